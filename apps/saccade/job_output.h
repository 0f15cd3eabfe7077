// What a job shows: its plan, its progress, and where the time went.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "saccade/job.h"

namespace saccade::cli {

struct JobOutputOptions {
  std::FILE* plan = nullptr;    ///< where the plan and its notices go; null: nowhere
  bool json_progress = false;   ///< one JSON object a line, on standard error
  bool plain_progress = false;  ///< a line now and then
  bool no_progress = false;
};

/// The plan goes to `plan`, everything else to standard error.
class JobOutput {
 public:
  explicit JobOutput(const JobOutputOptions& options) : options_(options) {}
  /// `progress` as the setting of that name says it.
  JobOutput(std::FILE* plan, std::string_view progress, bool quiet);

  /// Runs a job and shows all of it but its end.
  JobReport follow(const JobOptions& job, const std::atomic<bool>& interrupted,
                   const std::function<JobReport(const JobCallbacks&)>& run);

  void show_plan(const JobOptions& job, const JobReport& report);
  void show_progress(const JobProgress& progress);
  /// Ends the line that a progress bar stands on.
  void end_progress();
  /// Notices that came up after the plan was shown.
  void show_late_notices(const JobReport& report);

 private:
  using Clock = std::chrono::steady_clock;
  JobOutputOptions options_;
  Clock::time_point last_{};
  bool bar_shown_ = false;
  std::size_t notices_shown_ = 0;
};

/// Whether the result or its masks go to standard output, which then holds nothing else.
bool writes_to_stdout(const JobOptions& job);

/// The short table at the end.
std::string job_table(const JobReport& report);
/// The same, and more, for programs.
nlohmann::json job_json(const JobOptions& job, const JobReport& report);

}  // namespace saccade::cli
