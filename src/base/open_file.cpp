#include "base/open_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "saccade/error.h"

namespace saccade {

namespace {

constexpr int kPollMilliseconds = 50;

void require_uncancelled(const std::filesystem::path& path, const std::atomic<bool>* cancel, bool signalled) {
  if (cancel != nullptr ? cancel->load(std::memory_order_relaxed) : signalled)
    throw Error(ErrorCode::interrupted, path.string() + ": interrupted while it waited for its reader");
}

bool is_named_pipe(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

/// As if it had been opened without O_NONBLOCK.
void let_block(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK); }

[[noreturn]] void cannot_open(const std::filesystem::path& path, const char* what, int error) {
  throw Error(error == ENOENT ? ErrorCode::not_found : ErrorCode::io,
              path.string() + ": cannot " + what + ": " + std::strerror(error));
}

}  // namespace

int open_to_read(const std::filesystem::path& path) {
  const bool waits = is_named_pipe(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (waits ? O_NONBLOCK : 0));
  if (fd < 0) cannot_open(path, "open", errno);
  if (waits) let_block(fd);
  return fd;
}

int open_to_write(const std::filesystem::path& path, const std::atomic<bool>* cancel) {
  const bool waits = is_named_pipe(path);
  while (true) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | (waits ? O_NONBLOCK : 0));
    if (fd >= 0) {
      if (waits) let_block(fd);
      return fd;
    }
    if (!waits || errno != ENXIO) cannot_open(path, "open for writing", errno);
    // Nobody reads it yet.
    require_uncancelled(path, cancel, ::poll(nullptr, 0, kPollMilliseconds) < 0);
  }
}

}  // namespace saccade
