// Where a job meets the backend of this machine.
#include "cpu/target.h"
#include "pipeline/job.h"
#include "pipeline/model_network.h"
#include "saccade/job.h"
#include "saccade/model.h"

namespace saccade {

JobReport run_job(const JobOptions& options, const JobCallbacks& callbacks) {
  return pipeline::run(options, callbacks, [&] {
    return pipeline::make_network(Model::load(options.model, options.limits, options.plan_cache),
                                  cpu::target(),
                                  {.max_isa = options.max_isa,
                                   .max_memory = options.max_memory,
                                   .precision = pipeline::precision_options(options, callbacks)});
  });
}

}  // namespace saccade
