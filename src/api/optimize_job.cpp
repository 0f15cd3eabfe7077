#include "saccade/job.h"
#include "saccade/optimize.h"
#include "tune/optimize.h"

namespace saccade {

OptimizeReport optimize(const JobOptions& job, const OptimizeOptions& options,
                        const OptimizeCallbacks& callbacks) {
  return tune::optimize(job, options, callbacks, run_job);
}

}  // namespace saccade
