// A job with a profile of it.
#pragma once

#include <filesystem>

#include "saccade/job.h"
#include "saccade/profiler.h"

namespace saccade {

struct ProfileOptions {
  /// trace.json, profile.json and profile.html are written there. Made if need be; what is there is replaced
  /// only with JobOptions::overwrite.
  std::filesystem::path folder;
  /// In frames, as ProfilerOptions. The job ends behind the last frame that is recorded.
  std::int64_t wait = 0, warmup = 10, active = 100, repeat = 1;
  bool ceilings = true;  ///< measure what the machine can do, for a second, and compare layers with it
};

/// Runs the job as run_job() and writes the profile. Throws as run_job(); Error(invalid_argument) where the
/// input ends before anything is recorded.
JobReport profile_job(const JobOptions& options, const ProfileOptions& profile,
                      const JobCallbacks& callbacks = {});

}  // namespace saccade
