#include "cpu/target.h"
#include "pipeline/batch.h"
#include "pipeline/model_network.h"
#include "saccade/model.h"

namespace saccade {

BatchReport run_batch(const BatchOptions& options, const BatchCallbacks& callbacks) {
  return pipeline::run_batch(options, callbacks, [&] {
    JobOptions job = options.job;
    JobCallbacks watch;
    watch.cancel = callbacks.cancel;
    // One network for all: what it depends on pictures for, it takes from the first.
    if (job.precision == Precision::int8 || job.precision == Precision::automatic)
      job.input = plan_batch(options).front().input;
    return pipeline::make_network(Model::load(job.model, job.limits, job.plan_cache), cpu::target(),
                                  {.max_isa = job.max_isa,
                                   .max_memory = job.max_memory,
                                   .tune = job.tune,
                                   .precision = pipeline::precision_options(job, watch),
                                   .tile = job.tile,
                                   .window = job.window});
  });
}

}  // namespace saccade
