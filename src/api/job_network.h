// The network of a job, for this machine's backend.
#pragma once

#include <memory>

#include "pipeline/job.h"
#include "saccade/job.h"

namespace saccade::api {

std::unique_ptr<pipeline::Network> network_of(const JobOptions& options, const JobCallbacks& callbacks);

}  // namespace saccade::api
