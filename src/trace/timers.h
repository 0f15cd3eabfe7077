// Spans of one name taken together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "saccade/profiler.h"
#include "trace/recorder.h"

namespace saccade::trace {

/// In the order of first use of the names; names without a span are left out, counters too.
std::vector<TimerReport> timers(const Recorder& recorder);

/// The value below which a share `q` of the sorted values lies, interpolated. `sorted` is not empty.
double quantile(const std::vector<std::int64_t>& sorted, double q);

}  // namespace saccade::trace
