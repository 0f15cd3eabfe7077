// The network of a job, for this machine's backend.
#pragma once

#include <memory>
#include <optional>

#include "pipeline/job.h"
#include "pipeline/measurements.h"
#include "saccade/job.h"
#include "saccade/model.h"

namespace saccade::api {

std::unique_ptr<pipeline::Network> network_of(const JobOptions& options, const JobCallbacks& callbacks);

/// A job that was run with a look at what it did with its time.
struct MeasuredJob {
  JobReport report;
  std::optional<Plan> plan;  ///< that the network ran
  pipeline::Measurements measured;
};
MeasuredJob run_measured(const JobOptions& options, const JobCallbacks& callbacks);

}  // namespace saccade::api
