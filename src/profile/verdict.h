// Which stage limits a job, why, and what would help.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pipeline/measurements.h"
#include "saccade/bottleneck.h"
#include "saccade/job.h"

namespace saccade::profile {

/// What is known of the network beside the time it took.
struct NetworkFacts {
  bool known = false;
  double floor_ns = 0;      ///< the least time that the machine allows for a run on one thread
  double memory_share = 0;  ///< of it, the part of layers that wait for memory beyond the second cache
  double large_share = 0;   ///< of it, the part of layers whose operands do not fit the second cache
  std::int64_t weight_bytes = 0, arena_bytes = 0, cache_bytes = 0;  ///< cache: of a core, the second one
};

/// Trials of other settings; each may be missing, and may come to nothing.
struct Trials {
  /// CPU seconds a frame of the encoder with that preset, on this job's own pictures with a share of their
  /// pixels; of a job without an encoder those of the usual one (preset "").
  std::function<std::optional<double>(const std::string& preset, double pixels)> encode;
  /// How many times as fast the encoder alone is with so many threads (0: as many as it likes).
  std::function<std::optional<double>(int threads)> encode_speedup;
  /// The time of the network over that with the job's settings: without --max-memory, in bf16, and with one
  /// window at a time.
  std::function<std::optional<double>()> infer_without_cap, infer_bf16, infer_one_window;
  /// CPU seconds of a run of the network on one thread.
  std::function<std::optional<double>()> infer_alone;
  /// CPU time of the same work while all CPUs work, over that on one of them alone.
  std::function<double()> crowding;
};

BottleneckReport judge(const JobOptions& options, const pipeline::Measurements& measured,
                       const NetworkFacts& network = {}, const Trials& trials = {});

/// As lines for a terminal.
std::string verdict_text(const BottleneckReport& report);

}  // namespace saccade::profile
