#include "media/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>

namespace saccade::media {

namespace {

constexpr std::size_t kLetters = 6;
/// A long name plus the rest may exceed what the file system allows.
constexpr std::size_t kMostOfName = 64;

std::string prefix_for(const std::string& target) {
  return "." + target.substr(0, kMostOfName) + ".saccade-";
}

int open_folder(const std::string& name) {
  return ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Whether the name still stands for what the descriptor is.
bool is_named(const std::string& name, int fd) {
  struct stat by_name {
  }, by_fd{};
  return ::lstat(name.c_str(), &by_name) == 0 && ::fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino &&
         by_name.st_dev == by_fd.st_dev;
}

/// What nobody holds any more. Whoever writes holds a lock, which ends with its process; where there are no
/// locks, nothing is removed.
void remove_abandoned(const std::filesystem::path& folder, const std::string& prefix) {
  // Names are compared as they come: there may be thousands of others.
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(folder.c_str()), ::closedir);
  if (names == nullptr) return;
  while (const dirent* const each = ::readdir(names.get())) {
    const std::string_view file = each->d_name;
    if (file.size() != prefix.size() + kLetters || !file.starts_with(prefix)) continue;
    if (!std::all_of(file.end() - kLetters, file.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
      continue;
    const std::filesystem::path path = folder / file;
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) continue;
    const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(path.string(), fd)) {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    ::close(fd);
  }
}

/// `create` makes what has a name that is free and opens it: -1 and errno on failure.
template <class F>
Temporary make_temporary(const std::filesystem::path& folder, const std::string& target, F&& create) {
  const std::string prefix = prefix_for(target);
  remove_abandoned(folder, prefix);
  std::random_device random;
  Temporary made;
  for (int attempt = 0; attempt < 64; ++attempt) {
    std::string letters(kLetters, 'a');
    for (char& c : letters) c = static_cast<char>('a' + random() % 26);
    made.name = (folder / (prefix + letters)).string();
    made.fd = create(made.name);
    if (made.fd < 0 && errno == EEXIST) continue;
    if (made.fd < 0) break;
    // Another program may have taken it for abandoned before it was locked.
    (void)::flock(made.fd, LOCK_EX);
    if (is_named(made.name, made.fd)) return made;
    ::close(made.fd);
    made.fd = -1;
  }
  made.name.clear();
  return made;
}

}  // namespace

Temporary make_temporary_file(const std::filesystem::path& folder, const std::string& target) {
  return make_temporary(folder, target, [](const std::string& name) {
    return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  });
}

Temporary make_temporary_folder(const std::filesystem::path& folder, const std::string& target) {
  return make_temporary(folder, target, [](const std::string& name) {
    return ::mkdir(name.c_str(), 0777) == 0 ? open_folder(name) : -1;
  });
}

}  // namespace saccade::media
