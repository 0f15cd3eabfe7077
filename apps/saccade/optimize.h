// The search for settings, for `saccade optimize` and `saccade run --auto-optimize`.
#pragma once

#include <atomic>
#include <cstdio>

#include "saccade/optimize.h"
#include "settings/resolve.h"

namespace saccade::cli {

/// Budget and bounds of the search, as they are said.
OptimizeOptions optimize_options(const settings::Effective& said);

/// `job` with the fastest settings that are found within the budget; what was tried goes to `shown`, if any.
JobOptions optimized(const JobOptions& job, const settings::Effective& said,
                     const std::atomic<bool>& interrupted, std::FILE* shown);

}  // namespace saccade::cli
