// Everything that was recorded, in the Chrome trace format (docs/profiling.md has the schema).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "saccade/profiler.h"
#include "trace/recorder.h"

namespace saccade::trace {

/// A value over time that was sampled beside the recorder.
struct Sample {
  std::int64_t time = 0;  ///< nanoseconds since the recorder was made
  std::int64_t value = 0;
};
struct SampledCounter {
  std::string name;
  std::vector<Sample> samples;
};

std::string chrome_trace(const Recorder& recorder, std::span<const SampledCounter> counters = {});

/// Timers as JSON: whole nanoseconds in "total_ns", milliseconds elsewhere.
nlohmann::ordered_json timers_json(const std::vector<TimerReport>& timers);

/// Text as a JSON string, with its quotes; bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace saccade::trace
