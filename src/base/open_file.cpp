#include "base/open_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "saccade/error.h"

namespace saccade {

namespace {

struct Opened {
  int fd;
  ~Opened() {
    if (fd >= 0) ::close(fd);
  }
};

constexpr int kPollMilliseconds = 50;

void require_uncancelled(const std::filesystem::path& path, const std::atomic<bool>* cancel, bool signalled) {
  if (cancel != nullptr ? cancel->load(std::memory_order_relaxed) : signalled)
    throw Error(ErrorCode::interrupted, path.string() + ": interrupted while it waited for its other side");
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

int open_to_read(const std::filesystem::path& path, const std::atomic<bool>* cancel) {
  const bool waits = is_named_pipe(path);
  Opened file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | (waits ? O_NONBLOCK : 0))};
  if (file.fd < 0) cannot_open(path, "open", errno);
  if (waits) {
    pollfd ready{file.fd, POLLIN, 0};
    for (int count = 0; count <= 0;) {
      count = ::poll(&ready, 1, kPollMilliseconds);
      if (count < 0 && errno != EINTR) cannot_open(path, "open", errno);
      require_uncancelled(path, cancel, count < 0);
    }
    let_block(file.fd);
  }
  return std::exchange(file.fd, -1);
}

int open_to_write(const std::filesystem::path& path, const std::atomic<bool>* cancel) {
  const bool waits = is_named_pipe(path);
  while (true) {
    Opened file{::open(path.c_str(), O_WRONLY | O_CLOEXEC | (waits ? O_NONBLOCK : 0))};
    if (file.fd >= 0) {
      if (waits) let_block(file.fd);
      return std::exchange(file.fd, -1);
    }
    if (!waits || errno != ENXIO) cannot_open(path, "open for writing", errno);
    // Nobody reads it yet.
    require_uncancelled(path, cancel, ::poll(nullptr, 0, kPollMilliseconds) < 0);
  }
}

}  // namespace saccade
