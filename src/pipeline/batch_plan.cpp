// Which files a batch consists of, and where their results go.
#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "base/files.h"
#include "media/animation.h"
#include "media/encoder.h"
#include "media/picture_list.h"
#include "media/still.h"
#include "pipeline/batch.h"

namespace saccade {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVideos[] = {".mp4",  ".mov", ".m4v", ".mkv",  ".webm", ".avi",  ".ts",
                                        ".m2ts", ".mts", ".mpg", ".mpeg", ".vob",  ".wmv",  ".asf",
                                        ".flv",  ".3gp", ".3g2", ".ogv",  ".gif",  ".apng", ".nut",
                                        ".y4m",  ".mxf", ".dv",  ".f4v"};
/// Containers of results; other videos become .mp4.
constexpr std::string_view kKeptContainers[] = {".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi"};
constexpr const char* kDefaultVideo = ".mp4";

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

template <std::size_t N>
bool is_among(const std::string& extension, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), extension) != std::end(list);
}

bool looks_like_media(const fs::path& path) {
  return !path.filename().string().starts_with('.') &&
         (media::is_picture_name(path) || is_among(extension_of(path), kVideos));
}

/// By its name; GIF and PNG files may be either, which their content tells.
bool is_single_picture(const fs::path& file) {
  const std::string extension = extension_of(file);
  if (extension == ".gif" || extension == ".png") {
    if (const auto animation = media::read_animation(file)) return animation->pictures < 2;
  }
  return media::is_picture_name(file);
}

/// The extension that --output-format asks for; "/" for a folder of pictures; "" where the job names none, or
/// one that is not for inputs of this kind.
std::string asked_extension(bool picture, const JobOptions& job) {
  media::StillKind kind{};
  if (media::parse_still_name(job.output_format, kind)) {
    if (!picture) return kind == media::StillKind::webp ? ".webp" : "/";
    return kind == media::StillKind::jpeg ? ".jpg" : std::string(".") + media::still_name(kind);
  }
  if (picture || job.output_format.empty()) return "";
  const std::string_view all = media::choose_container("", false, job.output_format)->extensions;
  return "." + std::string(all.substr(0, all.find(',')));
}

/// The result's name: that of the input, with an extension that can hold it.
fs::path result_name(const fs::path& input, fs::path name, const JobOptions& job) {
  const std::string extension = extension_of(name);
  const bool picture = is_single_picture(input);
  if (const std::string asked = asked_extension(picture, job); asked == "/") {
    return name.replace_extension("") / "";
  } else if (!asked.empty()) {
    return name.replace_extension(asked);
  }
  if (picture) {
    const bool jpeg =
        extension == ".jpg" || extension == ".jpeg" || extension == ".jpe" || extension == ".jfif";
    if (!jpeg || job.effect == Effect::remove) name.replace_extension(".png");
  } else if (!is_among(extension, kKeptContainers)) {
    name.replace_extension(kDefaultVideo);
  }
  return name;
}

/// An input, and its place in the output folder.
struct Found {
  fs::path input, name;
};

void take_folder(const fs::path& folder, const BatchOptions& options, std::vector<Found>& found) {
  std::error_code error;
  std::vector<fs::path> files, folders;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      folders.push_back(entry->path());
    } else if (looks_like_media(entry->path())) {
      files.push_back(entry->path());
    }
  }
  if (error) throw Error(ErrorCode::io, folder.string() + ": cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& file : files) found.push_back({file, file.filename()});
  if (!options.recursive) return;
  for (const fs::path& each : folders) {
    const bool ours = same_file(each, options.output) || each.filename().string().starts_with('.') ||
                      each.extension() == ".resume" || fs::is_symlink(each);
    if (ours) continue;
    const std::size_t before = found.size();
    take_folder(each, options, found);
    for (std::size_t i = before; i < found.size(); ++i) found[i].name = each.filename() / found[i].name;
  }
}

bool is_pattern(const fs::path& path) { return path.string().find_first_of("*?[") != std::string::npos; }

void take_pattern(const fs::path& pattern, std::vector<Found>& found) {
  glob_t matches{};
  const int code = ::glob(pattern.c_str(), 0, nullptr, &matches);
  std::vector<fs::path> files;
  for (std::size_t i = 0; code == 0 && i < matches.gl_pathc; ++i) files.emplace_back(matches.gl_pathv[i]);
  ::globfree(&matches);
  std::error_code ignored;
  std::erase_if(files, [&](const fs::path& file) {
    return !looks_like_media(file) || fs::is_directory(file, ignored);
  });
  if (files.empty())
    throw Error(ErrorCode::not_found, pattern.string() + ": no video or picture has a name of this form");
  for (const fs::path& file : files) found.push_back({file, file.filename()});
}

/// Without loss for a video's masks.
fs::path mask_name(const fs::path& input, fs::path name) {
  return name.replace_extension(is_single_picture(input) ? ".png" : ".mkv");
}

/// One of an item's outputs is no input, and nothing that is there already.
void require_free(const BatchItem& item, const fs::path& output, const std::vector<BatchItem>& items,
                  const JobOptions& job) {
  std::error_code ignored;
  if (!fs::exists(output, ignored)) return;
  for (const BatchItem& other : items) {
    if (same_file(output, other.input)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: the result of {} would replace the input {}; name another output folder",
                              output.string(), item.input.string(), other.input.string()));
    }
  }
  if (job.overwrite || job.resume) return;
  throw Error(ErrorCode::invalid_argument,
              output.string() +
                  ": exists already; use --overwrite to replace such files, or --resume to "
                  "leave out those that are done");
}

void require_usable_folder(const fs::path& folder) {
  std::error_code error;
  if (folder.empty()) throw Error(ErrorCode::invalid_argument, "the output's name is empty");
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    throw Error(ErrorCode::invalid_argument,
                folder.string() + ": is no folder; several inputs need a folder as output");
  }
  if (!fs::exists(folder, error) && folder.has_filename() && looks_like_media(folder)) {
    throw Error(ErrorCode::invalid_argument,
                folder.string() +
                    ": is the name of a file; several inputs, and folders, need a folder as output "
                    "(make it, or end its name with a slash, if that is what it is)");
  }
}

}  // namespace

bool is_one_result(const std::filesystem::path& output) {
  constexpr std::string_view kOthers[] = {".webp", ".npy", ".json", ".geojson"};
  std::error_code ignored;
  const std::string extension = extension_of(output);
  return output.has_filename() && !fs::is_directory(output, ignored) &&
         (is_among(extension, kVideos) || is_among(extension, kOthers));
}

std::vector<BatchItem> plan_batch(const BatchOptions& options) {
  require_usable_folder(options.output);
  const bool masks = !options.job.mask_output.empty();
  if (masks) {
    require_usable_folder(options.job.mask_output);
    if (fs::weakly_canonical(options.job.mask_output / "x") == fs::weakly_canonical(options.output / "x"))
      throw Error(ErrorCode::invalid_argument,
                  options.job.mask_output.string() + ": results and masks need folders of their own");
  }
  std::vector<Found> found;
  for (const fs::path& input : options.inputs) {
    std::error_code error;
    if (fs::is_directory(input, error)) {
      take_folder(input, options, found);
    } else if (fs::exists(input, error)) {
      found.push_back({input, input.filename()});
    } else if (is_pattern(input)) {
      take_pattern(input, found);
    } else {
      throw Error(ErrorCode::not_found, input.string() + ": cannot open: No such file or directory");
    }
  }
  if (found.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("{}: holds no videos or pictures{}",
                            options.inputs.empty() ? "" : options.inputs.front().string(),
                            options.recursive ? "" : " (folders in it count with --recursive)"));
  }
  std::vector<BatchItem> items;
  std::map<fs::path, fs::path> taken;  // output -> input
  for (const Found& each : found) {
    BatchItem item{each.input, options.output / result_name(each.input, each.name, options.job)};
    if (masks) item.masks = options.job.mask_output / mask_name(each.input, each.name);
    bool again = false;
    for (const fs::path& output : {item.output, item.masks}) {
      if (output.empty()) continue;
      const auto [other, fresh] = taken.emplace(output, item.input);
      if (fresh) continue;
      again = same_file(other->second, item.input);  // named twice
      if (again) break;
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{} and {} would both be written to {}; name them apart, or give them to runs with "
                      "outputs of their own",
                      other->second.string(), item.input.string(), output.string()));
    }
    if (!again) items.push_back(std::move(item));
  }
  for (const BatchItem& item : items) {
    require_free(item, item.output, items, options.job);
    if (masks) require_free(item, item.masks, items, options.job);
  }
  return items;
}

}  // namespace saccade
