// How the kernel benchmarks take time.
#pragma once

#include <functional>

#include "saccade/isa.h"

namespace saccade::bench {

/// Seconds this thread has run: another program on the core does not count.
double thread_seconds();

/// Seconds of one call.
struct Timing {
  double median, best;
};
/// Calls `body` for about `seconds`; short bodies are called several times a sample.
Timing measure(double seconds, const std::function<void()>& body);

/// Multiply-adds a second that one core does in registers.
double multiply_add_ceiling(Isa isa);

}  // namespace saccade::bench
