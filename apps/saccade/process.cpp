#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "saccade/error.h"

extern char** environ;  // NOLINT(readability-identifier-naming): POSIX names it

namespace saccade::cli {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return 127;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ErrorCode::internal, std::string("cannot make a pipe: ") + std::strerror(errno));
  Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);

  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), writer.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), writer.get(), STDERR_FILENO);

  std::vector<std::string> copies = arguments;  // posix_spawn wants pointers to writable text
  std::vector<char*> argv;
  argv.reserve(copies.size() + 1);
  for (std::string& text : copies) argv.push_back(text.data());
  argv.push_back(nullptr);

  pid_t pid = 0;
  if (const int error = ::posix_spawnp(&pid, argv[0], actions.get(), nullptr, argv.data(), environ);
      error != 0)
    return {127, std::strerror(error)};
  writer.close();

  ProcessResult result;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t n = ::read(reader.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.output.append(buffer.data(), static_cast<std::size_t>(n));
  }
  result.status = wait_for(pid);
  return result;
}

}  // namespace saccade::cli
