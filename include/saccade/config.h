// Configuration files: the options of a job as `saccade run --config` takes them and `saccade optimize`
// writes them.
#pragma once

#include <filesystem>

#include "saccade/job.h"

namespace saccade {

/// Options of a job from a YAML or JSON file, by the names that docs/configuration-reference.md lists; what
/// the file leaves out keeps its value. Settings of other commands are passed over. Neither the command line
/// nor the environment matters. Throws Error(invalid_argument) naming file and line for a name that is
/// unknown (with the nearest one) or a value that is refused, Error(not_found | io) if it cannot be read.
void read_config(const std::filesystem::path& file, JobOptions& job);

}  // namespace saccade
