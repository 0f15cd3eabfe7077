// The settings that the search may change, as far as results stay what they are (or within the budget of
// `--precision auto`).
#pragma once

#include <vector>

#include "saccade/optimize.h"
#include "tune/search.h"

namespace saccade::tune {

/// The value of a setting that is not said.
inline constexpr const char* kDefault = "default";

/// The alternatives to what `job` says, on a machine of so many CPUs, in the order in which they are tried.
std::vector<Group> alternatives(const JobOptions& job, int cpus);

/// `job` with those settings. Names are those of the command line; they must be ones of `alternatives`.
JobOptions applied(JobOptions job, const Settings& settings);

/// Pictures of a video between decoder and encoder.
int pictures_in_flight(const JobOptions& job, int cpus);

}  // namespace saccade::tune
