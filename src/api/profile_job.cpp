// A job with a profile of it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "base/files.h"
#include "base/outputs.h"
#include "job_network.h"
#include "pipeline/job.h"
#include "platform/thread_pool.h"
#include "profile/hardware_counters.h"
#include "profile/memory_sampler.h"
#include "profile/report.h"
#include "profile/verdict.h"
#include "runtime/plan.h"
#include "runtime/plan_cache.h"
#include "saccade/model.h"
#include "saccade/profile.h"
#include "trials.h"

namespace saccade {

namespace {

/// Spans of one frame on one thread, beside those of the network's layers; generous.
constexpr std::size_t kSpansAFrame = 64;
constexpr std::size_t kLeastSpans = std::size_t{1} << 16;
constexpr std::size_t kMostSpans = std::size_t{1} << 22;
/// Layers of the largest networks, before there is one to ask.
constexpr std::size_t kLayers = 400;

ProfilerOptions profiler_options(const ProfileOptions& profile, int threads) {
  ProfilerOptions options;
  options.wait = profile.wait;
  options.warmup = profile.warmup;
  options.active = profile.active;
  options.repeat = profile.repeat;
  const auto frames = static_cast<std::size_t>(std::max<std::int64_t>(
      1, std::min<std::int64_t>(profile.active, 1 << 20) *
             std::min<std::int64_t>(std::max<std::int64_t>(1, profile.repeat), 1 << 20)));
  options.spans_a_thread = std::clamp(frames * (kSpansAFrame + kLayers), kLeastSpans, kMostSpans);
  options.threads = threads + 32;  // decoders, encoders, a live input
  return options;
}

void check(const ProfileOptions& profile, const JobOptions& job) {
  if (profile.folder.empty()) throw Error(ErrorCode::invalid_argument, "no folder for the profile is named");
  for (const auto& [name, value] : {std::pair{"wait", profile.wait},
                                    {"warmup", profile.warmup},
                                    {"active", profile.active},
                                    {"repeat", profile.repeat}}) {
    if (value < 0)
      throw Error(ErrorCode::invalid_argument, fmt::format("{} {} is not a number of frames", name, value));
  }
  std::vector<NamedOutput> outputs = {{job.output, "the job's result"}, {job.mask_output, "mask output"}};
  for (const char* name : profile::kReportNames)
    outputs.push_back({profile.folder / name, fmt::format("the profile's {}", name)});
  require_apart(outputs);
  const std::vector<std::filesystem::path> protect = pipeline::files_to_protect(job);
  for (const char* name : profile::kReportNames) {
    std::error_code none;
    if (!std::filesystem::exists(profile.folder / name, none)) continue;
    for (const std::filesystem::path& read : protect)
      if (same_file(profile.folder / name, read))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: is read by the job, so the profile cannot go there; name another folder",
                                (profile.folder / name).string()));
    if (!job.overwrite)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: exists already; use --overwrite to replace it", (profile.folder / name).string()));
  }
}

/// Of all plans on disk.
std::int64_t cached_bytes(const PlanCacheOptions& options) {
  const auto cache = runtime::PlanCache::open(options);
  if (cache == nullptr) return 0;
  std::int64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(cache->directory(), error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) bytes += static_cast<std::int64_t>(entry->file_size(ignored));
  }
  return bytes;
}

}  // namespace

JobReport profile_job(const JobOptions& wanted, const ProfileOptions& profile, const JobCallbacks& given) {
  check(profile, wanted);
  JobOptions options = wanted;
  const trace::Schedule schedule{profile.wait, profile.warmup, profile.active, profile.repeat};
  if (schedule.turns() > 0)
    options.frames = options.frames ? std::min(*options.frames, schedule.turns()) : schedule.turns();
  const int threads = options.threads > 0 ? options.threads : platform::available_cpus();
  Profiler profiler(profiler_options(profile, threads));
  JobCallbacks callbacks = given;
  callbacks.profiler = &profiler;
  const profile::HardwareCounters counters;
  profile::MemorySampler sampler(profiler.recorder());
  auto [report, plan, measured] = api::run_measured(options, callbacks);
  sampler.stop();
  if (options.dry_run) return report;
  if (profiler.report().empty() && !report.interrupted)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: has {} frames, which are all left out by wait {} and warmup {}",
                            options.input.string(), report.frames, profile.wait, profile.warmup));
  profile::ReportInputs inputs{.options = options,
                               .job = report,
                               .measured = measured,
                               .recorder = profiler.recorder(),
                               .plan = plan->impl(),
                               .ceilings = {},
                               .floors = {},
                               .counts = counters.read(),
                               .missing_counts = counters.missing(),
                               .memory = sampler.samples(),
                               .cache_bytes = cached_bytes(options.plan_cache)};
  profile::NetworkFacts facts;
  if (profile.ceilings) {
    api::MachineLimits limits =
        api::measure_limits(*plan, plan->impl().isa,
                            measured.video ? std::max(1, threads / std::max(1, measured.streams)) : threads);
    inputs.ceilings = std::move(limits.ceilings);
    inputs.floors = std::move(limits.floors);
    facts = limits.facts;
  }
  if (options.detect_bottlenecks) {
    profile::Trials trials;
    api::add_trials(options, *plan, measured, trials);
    report.bottleneck = profile::judge(options, measured, facts, trials);
  }
  profile::write_report(profile.folder, profile::make_report(inputs));
  return report;
}

}  // namespace saccade
