#include "cpu/target.h"
#include "pipeline/batch.h"
#include "pipeline/model_network.h"
#include "saccade/model.h"

namespace saccade {

BatchReport run_batch(const BatchOptions& options, const BatchCallbacks& callbacks) {
  return pipeline::run_batch(options, callbacks, [&] {
    const JobOptions& job = options.job;
    return pipeline::make_network(
        Model::load(job.model, job.limits, job.plan_cache), cpu::target(),
        {.max_isa = job.max_isa, .max_memory = job.max_memory, .precision = job.precision});
  });
}

}  // namespace saccade
