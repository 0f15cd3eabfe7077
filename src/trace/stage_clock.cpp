#include "trace/stage_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <ctime>

namespace saccade::trace {

namespace {

std::chrono::nanoseconds read_clock(clockid_t clock) noexcept {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) return {};
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The calling thread's numbers in the kernel's own words: time on a CPU, time without one, turns.
class ThreadNumbers {
 public:
  ThreadNumbers() noexcept : file_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ~ThreadNumbers() {
    if (file_ >= 0) ::close(file_);
  }
  ThreadNumbers(const ThreadNumbers&) = delete;
  ThreadNumbers& operator=(const ThreadNumbers&) = delete;

  std::chrono::nanoseconds delay() const noexcept {
    constexpr std::chrono::nanoseconds kUnknown{-1};
    std::array<char, 80> text;
    const ssize_t size = file_ < 0 ? -1 : ::pread(file_, text.data(), text.size(), 0);
    if (size <= 0) return kUnknown;
    const char* const end = text.data() + size;
    std::int64_t ran = 0, delayed = 0;
    const auto [space, first] = std::from_chars(text.data(), end, ran);
    if (first != std::errc{} || space == end) return kUnknown;
    const auto second = std::from_chars(space + 1, end, delayed);
    return second.ec == std::errc{} ? std::chrono::nanoseconds(delayed) : kUnknown;
  }

 private:
  int file_;
};

}  // namespace

std::chrono::nanoseconds thread_run_delay() noexcept {
  thread_local const ThreadNumbers numbers;
  return numbers.delay();
}

std::chrono::nanoseconds thread_cpu_time() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
std::chrono::nanoseconds process_cpu_time() noexcept { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace saccade::trace
