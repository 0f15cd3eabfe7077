// The search over runs of a job.
#pragma once

#include <filesystem>
#include <functional>

#include "saccade/error.h"
#include "saccade/optimize.h"
#include "tune/search.h"

namespace saccade::tune {

using RunJob = std::function<JobReport(const JobOptions& job, const JobCallbacks& callbacks)>;

/// What earlier searches found for jobs like one that was just begun. Either may be empty; neither throws.
struct Memory {
  std::function<Settings(const JobReport& first)> recall;
  std::function<void(const JobReport& first, const Settings& best)> keep;
};

/// That an input is a single picture, where a video is needed.
Error single_picture(const std::filesystem::path& input);

/// saccade::optimize, with whatever runs jobs. What `memory` recalls is tried first, like any other
/// candidate.
OptimizeReport optimize(const JobOptions& job, const OptimizeOptions& options,
                        const OptimizeCallbacks& callbacks, const RunJob& run, const Memory& memory = {});

}  // namespace saccade::tune
