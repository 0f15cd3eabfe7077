#include "trace/stage_clock.h"

#include <ctime>

namespace saccade::trace {

namespace {

std::chrono::nanoseconds read_clock(clockid_t clock) noexcept {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) return {};
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

std::chrono::nanoseconds thread_cpu_time() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
std::chrono::nanoseconds process_cpu_time() noexcept { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace saccade::trace
