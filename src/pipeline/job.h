// A job with its network at hand: what run_job() of the public API calls once the model is loaded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/network.h"
#include "pipeline/processor.h"
#include "saccade/job.h"

namespace saccade::pipeline {

/// Runs the job; see saccade::run_job. The report lacks what only the caller knows: the time spent on the
/// model.
JobReport run(const JobOptions& options, const JobCallbacks& callbacks, const Network& network);

/// What can be refused without looking into any file: out-of-range options, an output that exists or is an
/// input.
void check_options(const JobOptions& options);

/// Files that the output must not be.
std::vector<std::filesystem::path> files_to_protect(const JobOptions& options);

}  // namespace saccade::pipeline
