#include "input_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "saccade/error.h"

namespace saccade::cli {

std::vector<std::string> read_list(const std::string& file, const std::atomic<bool>& cancel) {
  const auto interrupted = [] { return Error(ErrorCode::interrupted, "interrupted before the first input"); };
  const auto failed = [&](const char* what) {
    if (errno == EINTR && cancel) return interrupted();
    return Error(ErrorCode::not_found,
                 fmt::format("{}: cannot {} the list of inputs: {}", file, what, std::strerror(errno)));
  };
  // Not a stream, which would wait on after a signal.
  const int fd = file == "-" ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw failed("open");
  const std::shared_ptr<void> closer(nullptr, [fd](void*) {
    if (fd != STDIN_FILENO) ::close(fd);
  });
  std::string text;
  std::array<char, 4096> piece;
  while (true) {
    constexpr int kMilliseconds = 100;  // at most, until a signal is heard that came just before
    pollfd ready{fd, POLLIN, 0};
    const int there = ::poll(&ready, 1, kMilliseconds);
    if (cancel) throw interrupted();
    if (there == 0 || (there < 0 && errno == EINTR)) continue;
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw failed("read");
    if (count == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  std::vector<std::string> names;
  // As "find -print0" writes them: then newlines are parts of names.
  const bool by_zeros = text.find('\0') != std::string::npos;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line, by_zeros ? '\0' : '\n');) {
    if (!by_zeros && line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

}  // namespace saccade::cli
