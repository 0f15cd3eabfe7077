#include "media/picture_list.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

#include "media/ffmpeg.h"
#include "media/output_folder.h"

namespace saccade::media {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPictureExtensions[] = {".png",  ".jpg", ".jpeg", ".jpe",  ".jfif",
                                                   ".webp", ".bmp", ".tif",  ".tiff", ".tga",
                                                   ".ppm",  ".pgm", ".avif", ".ico"};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// "a2" before "a10".
bool before_by_name(const fs::path& left, const fs::path& right) {
  const std::string a = left.string(), b = right.string();
  std::size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[k])) {
      if (a[i] != b[k]) return a[i] < b[k];
      ++i, ++k;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (k < b.size() && b[k] == '0') ++k;
    std::size_t end_a = i, end_b = k;
    while (end_a < a.size() && is_digit(a[end_a])) ++end_a;
    while (end_b < b.size() && is_digit(b[end_b])) ++end_b;
    if (end_a - i != end_b - k) return end_a - i < end_b - k;
    if (const int order = a.compare(i, end_a - i, b, k, end_b - k); order != 0) return order < 0;
    i = end_a, k = end_b;
  }
  return a.size() - i != b.size() - k ? a.size() - i < b.size() - k : a < b;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) files.push_back(entry->path());
  }
  if (error) throw Error(ErrorCode::io, folder.string() + ": cannot be read: " + error.message());
  return files;
}

bool is_hidden(const fs::path& file) { return file.filename().string().starts_with('.'); }

std::vector<ListedPicture> in_order(std::vector<fs::path> files) {
  std::erase_if(files, [](const fs::path& file) {
    std::error_code ignored;
    return !is_picture_name(file) || is_hidden(file) || fs::is_directory(file, ignored);
  });
  std::sort(files.begin(), files.end(), before_by_name);
  std::vector<ListedPicture> list;
  for (fs::path& file : files) list.push_back({std::move(file), static_cast<std::int64_t>(list.size())});
  return list;
}

std::vector<fs::path> matching(const fs::path& name) {
  glob_t matches{};
  const int code = ::glob(name.c_str(), 0, nullptr, &matches);
  std::vector<fs::path> files;
  for (std::size_t i = 0; code == 0 && i < matches.gl_pathc; ++i) files.emplace_back(matches.gl_pathv[i]);
  ::globfree(&matches);
  return files;
}

bool is_glob(const fs::path& name) { return name.string().find_first_of("*?[") != std::string::npos; }

std::vector<ListedPicture> numbered(const fs::path& name) {
  const FilePattern pattern = parse_pattern(name);
  const fs::path folder = pattern.folder.empty() ? fs::path(".") : pattern.folder;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw Error(ErrorCode::not_found,
                fmt::format("{}: there is no folder {}", name.string(), folder.string()));
  std::vector<ListedPicture> list;
  for (fs::path& file : files_in(folder)) {
    const std::string each = file.filename().string();
    const std::size_t fixed = pattern.before.size() + pattern.after.size();
    if (each.size() <= fixed || !each.starts_with(pattern.before) || !each.ends_with(pattern.after)) continue;
    const std::string_view digits = std::string_view(each).substr(pattern.before.size(), each.size() - fixed);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size() || pattern.name(number) != each)
      continue;
    list.push_back({pattern.folder / each, number});
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  for (auto i = list.rbegin(); i != list.rend(); ++i) i->number -= list.front().number;
  return list;
}

}  // namespace

bool is_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(std::begin(kPictureExtensions), std::end(kPictureExtensions), extension) !=
         std::end(kPictureExtensions);
}

std::vector<ListedPicture> list_pictures(const fs::path& name) {
  std::error_code ignored;
  const std::string text = name.string();
  const bool folder = fs::is_directory(name, ignored);
  if (!folder && (fs::exists(name, ignored) || text.find("://") != std::string::npos)) return {};
  const bool pattern = is_glob(name);
  const bool series = is_picture_name(name) && name.filename().string().find('%') != std::string::npos;
  if (!folder && !pattern && !series) return {};
  std::vector<ListedPicture> list = folder    ? in_order(files_in(name))
                                    : pattern ? in_order(matching(name))
                                              : numbered(name);
  if (list.empty()) {
    throw Error(ErrorCode::not_found,
                text + (folder ? ": is a folder without pictures that could be one video; folders of other "
                                 "files need a folder as output"
                               : ": no picture has a name of this form"));
  }
  return list;
}

std::vector<fs::path> other_files(const fs::path& name) {
  std::error_code ignored;
  std::vector<fs::path> files;
  if (fs::is_directory(name, ignored)) {
    files = files_in(name);
  } else if (!fs::exists(name, ignored) && is_glob(name)) {
    files = matching(name);
  }
  std::erase_if(files, [](const fs::path& file) {
    std::error_code error;
    return is_picture_name(file) || is_hidden(file) || fs::is_directory(file, error);
  });
  std::sort(files.begin(), files.end(), before_by_name);
  return files;
}

}  // namespace saccade::media
