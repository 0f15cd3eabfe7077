// How the kernel benchmarks take time.
#pragma once

#include <functional>

namespace saccade::bench {

/// Seconds this thread has run: another program on the core does not count.
double thread_seconds();

/// Seconds of one call.
struct Timing {
  double median, best;
};
/// Calls `body` for about `seconds`; short bodies are called several times a sample.
Timing measure(double seconds, const std::function<void()>& body);

}  // namespace saccade::bench
