// A batch with its network at hand: what run_batch() of the public API calls.
#pragma once

#include "pipeline/job.h"
#include "saccade/batch.h"

namespace saccade::pipeline {

/// `make_network` is called once: all jobs share the network.
BatchReport run_batch(const BatchOptions& options, const BatchCallbacks& callbacks,
                      const NetworkFactory& make_network);

}  // namespace saccade::pipeline
