// A job with its network at hand: what run_job() of the public API calls once the model is loaded.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/choose_precision.h"
#include "pipeline/measurements.h"
#include "pipeline/network.h"
#include "pipeline/processor.h"
#include "saccade/job.h"

namespace saccade::pipeline {

/// Loads and compiles the model; called once, when input and output have been found fit.
using NetworkFactory = std::function<std::unique_ptr<Network>()>;

/// The notice of outputs that can hold nothing else.
inline constexpr std::string_view kOnlyPictures =
    "sound and other streams are left out: this kind of output holds pictures only";

/// The options of a job that concern precision.
PrecisionOptions precision_options(const JobOptions& options, const JobCallbacks& callbacks);

/// Runs the job; see saccade::run_job. `measured` (may be null) gets what it did with its time.
JobReport run(const JobOptions& options, const JobCallbacks& callbacks, const NetworkFactory& make_network,
              Measurements* measured = nullptr);

/// What can be refused without looking into any file: out-of-range options, an output that exists or is an
/// input.
void check_options(const JobOptions& options);

/// Files that the output must not be.
std::vector<std::filesystem::path> files_to_protect(const JobOptions& options);

}  // namespace saccade::pipeline
