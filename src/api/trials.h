// What the verdict on a job asks of this machine's backend: how fast it could be, and what the job's network
// would take with other settings.
#pragma once

#include <vector>

#include "profile/report.h"
#include "profile/verdict.h"
#include "saccade/job.h"
#include "saccade/model.h"

namespace saccade::api {

/// What the machine does at most with `threads` threads, and the least time of each of the plan's steps.
struct MachineLimits {
  profile::Ceilings ceilings;
  std::vector<profile::StepFloor> floors;
  profile::NetworkFacts facts;
};
/// Takes about half a second.
MachineLimits measure_limits(const Plan& plan, Isa isa, int threads);

/// `plan` is that of the job's network. All that is named outlives the trials.
void add_trials(const JobOptions& options, const Plan& plan, const pipeline::Measurements& measured,
                profile::Trials& trials);

}  // namespace saccade::api
