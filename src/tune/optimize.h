// The search over runs of a job.
#pragma once

#include <functional>

#include "saccade/optimize.h"

namespace saccade::tune {

using RunJob = std::function<JobReport(const JobOptions& job, const JobCallbacks& callbacks)>;

/// saccade::optimize, with whatever runs jobs.
OptimizeReport optimize(const JobOptions& job, const OptimizeOptions& options,
                        const OptimizeCallbacks& callbacks, const RunJob& run);

}  // namespace saccade::tune
