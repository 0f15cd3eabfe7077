// Where a job meets the backend of this machine.
#include <optional>

#include "cpu/target.h"
#include "job_network.h"
#include "pipeline/job.h"
#include "pipeline/model_network.h"
#include "saccade/job.h"
#include "saccade/model.h"
#include "trials.h"

namespace saccade {

std::unique_ptr<pipeline::Network> api::network_of(const JobOptions& options, const JobCallbacks& callbacks) {
  return pipeline::make_network(Model::load(options.model, options.limits, options.plan_cache), cpu::target(),
                                {.max_isa = options.max_isa,
                                 .max_memory = options.max_memory,
                                 .tune = options.tune,
                                 .precision = pipeline::precision_options(options, callbacks),
                                 .tile = options.tile,
                                 .window = options.window});
}

api::MeasuredJob api::run_measured(const JobOptions& options, const JobCallbacks& callbacks) {
  MeasuredJob job;
  job.report = pipeline::run(
      options, callbacks,
      [&] {
        auto network = network_of(options, callbacks);
        job.plan = *network->plan();
        return network;
      },
      &job.measured);
  return job;
}

JobReport run_job(const JobOptions& options, const JobCallbacks& callbacks) {
  if (!options.detect_bottlenecks || options.dry_run)
    return pipeline::run(options, callbacks, [&] { return api::network_of(options, callbacks); });
  auto [report, plan, measured] = api::run_measured(options, callbacks);
  profile::Trials trials;
  api::add_trials(options, *plan, measured, trials);
  const api::MachineLimits limits = api::measure_limits(*plan, report.isa, 1);
  report.bottleneck = profile::judge(options, measured, limits.facts, trials);
  return report;
}

}  // namespace saccade
