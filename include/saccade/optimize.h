// Finds the settings with which a job is fastest on this machine, by running parts of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "saccade/job.h"

namespace saccade {

struct OptimizeOptions {
  double budget_seconds = 60;     ///< for all trials; the last one may end a little behind it
  double target_fps = 0;          ///< enough: the search ends once it is reached; 0: as fast as possible
  double max_latency_ms = 0;      ///< between decoder and encoder, on average; 0: no bound
  std::int64_t max_memory = 0;    ///< bytes of the whole process at its peak; 0: no bound
  std::int64_t max_frames = 120;  ///< of the input that one trial takes
};

/// Settings by their names on the command line and in configuration files; the value "default" takes back
/// what was said of one.
using SettingValues = std::vector<std::pair<std::string, std::string>>;

struct OptimizeTrial {
  std::string group;       ///< what was varied: "schedule", "encoder", …
  SettingValues settings;  ///< that differ from the job's own
  double speedup = 0;      ///< over the job as it was given; 0: refused or not tried
  double noise = 0;        ///< of `speedup`: median absolute deviation over the passes
  std::int64_t frames = 0;
  std::string verdict;  ///< in words: "best", "no faster", "refused: takes 900 MB, …"
};

struct OptimizeReport {
  SettingValues best;  ///< to be set; empty: the job is best as it is
  double speedup = 1;  ///< by them, measured beside the job as it was given
  double noise = 0;
  double frames_per_second = 0;  ///< of the last trial with them
  double mask_change = 0;  ///< share of pixels whose class they change, as `--precision auto` measured it
  double seconds = 0;
  bool complete = true;       ///< false: the budget ended the search before everything had its turn
  std::string start_refused;  ///< which bound the job as it was given breaks, if it does
  std::vector<OptimizeTrial> trials;
};

struct OptimizeCallbacks {
  /// Before each trial.
  std::function<void(const SettingValues& settings, double seconds_so_far)> trial;
  const std::atomic<bool>* cancel = nullptr;
};

/// Runs the beginning of the job again and again with other settings; its outputs go to a temporary folder
/// and vanish, the job's own are not touched. The input must be a video file: what cannot be read again, or
/// is over at once, has nothing to measure. Results of the job stay the same, but for precision, which is
/// searched within `max_mask_change` where the job asks for fp32. Throws as run_job(), Error(interrupted)
/// after `cancel`.
OptimizeReport optimize(const JobOptions& job, const OptimizeOptions& options,
                        const OptimizeCallbacks& callbacks = {});

/// `job` with settings that optimize() found.
JobOptions with_settings(const JobOptions& job, const SettingValues& settings);

}  // namespace saccade
