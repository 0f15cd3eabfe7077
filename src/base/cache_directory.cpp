#include "base/cache_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <system_error>

namespace saccade {

namespace {

/// In the order in which they are asked.
constexpr const char* kCacheVariables[] = {"SACCADE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};

/// Whether the environment names no place of this user.
bool caches_among_temporary_files() {
  return std::all_of(std::begin(kCacheVariables), std::end(kCacheVariables), [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0';
  });
}

}  // namespace

std::filesystem::path cache_directory() {
  constexpr const char* kBelow[] = {"", "saccade", ".cache/saccade"};
  for (std::size_t i = 0; i < std::size(kCacheVariables); ++i) {
    const char* value = std::getenv(kCacheVariables[i]);
    if (value != nullptr && *value != '\0')
      return *kBelow[i] == '\0' ? std::filesystem::path(value) : std::filesystem::path(value) / kBelow[i];
  }
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return (error ? std::filesystem::path("/tmp") : folder) / ("saccade-cache-" + std::to_string(::geteuid()));
}

std::string cache_distrust() {
  const std::filesystem::path folder = cache_directory();
  struct stat info {};
  if (!caches_among_temporary_files()) {
    const char* named = std::getenv(kCacheVariables[0]);
    if (named != nullptr && *named != '\0') return "";
    const bool open = ::stat(folder.c_str(), &info) == 0 && (info.st_mode & S_IWOTH) != 0;
    return open ? "everybody may write into it" : "";
  }
  ::mkdir(folder.c_str(), 0700);
  // Not what a link leads to: whoever made the link may change it.
  if (::lstat(folder.c_str(), &info) != 0) return std::string("cannot be made: ") + std::strerror(errno);
  if (!S_ISDIR(info.st_mode)) return "is no folder of its own";
  if (info.st_uid != ::geteuid()) return "belongs to another user";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write into it";
  return "";
}

}  // namespace saccade
