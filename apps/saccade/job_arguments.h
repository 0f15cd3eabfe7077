// From settings to a job, for the commands that run one.
#pragma once

#include <string>
#include <vector>

#include "saccade/job.h"
#include "settings/resolve.h"

namespace saccade::cli {

/// What is said of a job on the first of these inputs; the model is not looked for, and the output may be
/// missing. Throws UsageError for what makes no sense together; what the library would refuse too is left to
/// it.
JobOptions job_options(const settings::Effective& said, const std::vector<std::string>& inputs);

}  // namespace saccade::cli
