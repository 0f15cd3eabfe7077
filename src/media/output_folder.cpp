#include "media/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "media/temporary.h"

namespace saccade::media {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_system(const fs::path& path, const std::string& what, int error) {
  throw Error(ErrorCode::io, path.string() + ": " + what + ": " + std::generic_category().message(error));
}

void write_whole(const fs::path& path, std::string_view content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) throw_system(path, "cannot create", errno);
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      const int error = n == 0 ? EIO : errno;
      ::close(fd);
      throw_system(path, "cannot write", error);
    }
  }
  if (::close(fd) != 0) throw_system(path, "cannot write", errno);
}

bool is_protected_path(const fs::path& path, const OutputFileOptions& options) {
  std::error_code ignored;
  return std::any_of(options.protect.begin(), options.protect.end(),
                     [&](const fs::path& other) { return fs::equivalent(path, other, ignored); });
}

}  // namespace

std::string FilePattern::name(std::int64_t number) const {
  return before + fmt::format("{:0{}}", number, digits) + after;
}

bool FilePattern::matches(const std::string& name) const {
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after))
    return false;
  const std::string_view number(name.data() + before.size(), name.size() - before.size() - after.size());
  const bool padded = number.size() == static_cast<std::size_t>(digits);
  return std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         (padded || (number.size() > static_cast<std::size_t>(digits) && number.front() != '0'));
}

FilePattern parse_pattern(const fs::path& pattern) {
  FilePattern result;
  result.folder = pattern.parent_path();
  result.digits = 0;
  const std::string name = pattern.filename().string();
  bool numbered = false;
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      text += name[i];
      continue;
    }
    if (i + 1 < name.size() && name[i + 1] == '%') {
      text += '%';
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0 && end < i + 4)
      ++end;
    const bool valid =
        end < name.size() && name[end] == 'd' && (end == i + 1 || name[i + 1] == '0') && !numbered;
    if (!valid) {
      throw Error(ErrorCode::invalid_argument,
                  pattern.string() + ": a pattern has one number, written %d or %06d (%% is a percent sign)");
    }
    result.digits = end == i + 1 ? 1 : std::atoi(name.substr(i + 1, end - i - 1).c_str());
    result.before = text;
    text.clear();
    numbered = true;
    i = end;
  }
  result.after = text;
  if (!numbered) {
    throw Error(ErrorCode::invalid_argument,
                pattern.string() + ": the pattern has no number; write it as in picture_%06d.png");
  }
  return result;
}

void OutputFolder::require_free(const FilePattern& pattern, const OutputFileOptions& options) {
  const fs::path folder = pattern.folder.empty() ? fs::path(".") : pattern.folder;
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return;
  if (!S_ISDIR(info.st_mode))
    throw Error(ErrorCode::invalid_argument, folder.string() + ": is a file, not a folder for pictures");
  const fs::path first = folder / pattern.name(1);
  if (::lstat(first.c_str(), &info) != 0) return;
  if (is_protected_path(first, options))
    throw Error(ErrorCode::invalid_argument,
                first.string() + ": is an input of this job; choose another name");
  if (!options.overwrite)
    throw Error(ErrorCode::invalid_argument,
                first.string() + ": exists already; give --overwrite to replace it");
}

OutputFolder::OutputFolder(FilePattern pattern, OutputFileOptions options)
    : pattern_(std::move(pattern)), options_(std::move(options)) {
  require_free(pattern_, options_);
  // "FOLDER/" and "FOLDER" are the same.
  if (!pattern_.folder.empty() && !pattern_.folder.has_filename())
    pattern_.folder = pattern_.folder.parent_path();
  if (pattern_.folder.empty()) pattern_.folder = ".";
  for (const fs::path& file : options_.protect) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0) protected_.emplace(info.st_dev, info.st_ino);
  }
  std::error_code error;
  fresh_ = !fs::exists(pattern_.folder, error);
  const fs::path beside = fresh_ ? pattern_.folder.parent_path() : pattern_.folder;
  const Temporary made = make_temporary_folder(beside.empty() ? fs::path(".") : beside,
                                               fresh_ ? pattern_.folder.filename().string() : "pictures");
  if (made.fd < 0) throw_system(pattern_.folder, "cannot make a folder for the pictures", errno);
  lock_ = {new int(made.fd), [](const int* fd) {
             ::close(*fd);
             delete fd;
           }};
  temporary_ = made.name;
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void OutputFolder::write(std::int64_t number, std::string_view content) {
  std::string name = pattern_.name(number);
  write_whole(temporary_ / name, content);
  names_.push_back(std::move(name));
  written_ += static_cast<std::int64_t>(content.size());
}

bool OutputFolder::is_protected(const fs::path& file) const {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 && protected_.contains({info.st_dev, info.st_ino});
}

void OutputFolder::move_into(const fs::path& folder) {
  struct stat info {};
  for (const std::string& name : names_) {
    const fs::path target = folder / name;
    if (::lstat(target.c_str(), &info) != 0) continue;
    if (is_protected(target) || S_ISDIR(info.st_mode))
      throw Error(ErrorCode::invalid_argument, target.string() + ": must not be replaced");
    if (!options_.overwrite)
      throw Error(ErrorCode::invalid_argument,
                  target.string() + ": exists already; give --overwrite to replace it");
  }
  for (const std::string& name : names_) {
    if (::rename((temporary_ / name).c_str(), (folder / name).c_str()) != 0)
      throw_system(folder / name, "cannot give the finished file its name", errno);
  }
  ::rmdir(temporary_.c_str());
  temporary_.clear();
}

void OutputFolder::commit() {
  if (fresh_ && ::rename(temporary_.c_str(), pattern_.folder.c_str()) == 0) {
    temporary_.clear();
    return;
  }
  if (fresh_ && errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
    throw_system(pattern_.folder, "cannot give the finished folder its name", errno);
  move_into(pattern_.folder);  // it exists, or has appeared meanwhile
}

std::int64_t OutputFolder::older_files() const {
  const std::set<std::string> ours(names_.begin(), names_.end());
  std::int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator entry(pattern_.folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (pattern_.matches(name) && !ours.contains(name)) ++count;
  }
  return count;
}

std::string OutputFolder::names() const {
  return (pattern_.folder / (pattern_.before + "*" + pattern_.after)).string();
}

fs::path OutputFolder::commit_partial() {
  const fs::path plain = pattern_.folder == "." ? fs::path("pictures") : pattern_.folder;
  std::error_code ignored;
  fs::path partial = plain.string() + ".partial";
  for (int i = 2; fs::exists(partial, ignored); ++i)
    partial = plain.string() + ".partial-" + std::to_string(i);
  if (::rename(temporary_.c_str(), partial.c_str()) != 0)
    throw_system(partial, "cannot give the finished folder its name", errno);
  temporary_.clear();
  return partial;
}

}  // namespace saccade::media
