// The search for a job's settings, with what earlier searches left in the cache.
#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/archive.h"
#include "base/log.h"
#include "media/source.h"
#include "platform/machine.h"
#include "platform/thread_pool.h"
#include "runtime/model_impl.h"
#include "runtime/plan_cache.h"
#include "saccade/job.h"
#include "saccade/model.h"
#include "saccade/optimize.h"
#include "tune/optimize.h"

namespace saccade {

namespace {

constexpr auto kTuning = runtime::PlanCache::Kind::tuning;
/// More is no list of settings.
constexpr std::uint64_t kMostSettings = 64;

/// What the fastest settings depend on: model, machine, kind of input and output, what the job asks for and
/// what the search was bound to. Empty where the model cannot be told from others.
std::string key_of(const JobOptions& job, const OptimizeOptions& options, const std::string& model,
                   const JobReport& first) {
  if (model.empty()) return "";
  return fmt::format(
      "tuning\nmodel {}\nprocessor {}\ncpus {}\nisa {}\ninput {}\noutput {}\neffect {} {} {} {} {}"
      "\nparts {} {} {} {}\nencoder {} {} {}\njob {} {} {} {} {} {} {} {} {} {}\nbounds {} {} {}",
      model, platform::cpu_signature(), platform::available_cpus(), isa_name(first.isa), first.input_summary,
      first.output_summary, effect_name(job.effect), job.strength, job.refine, job.decontaminate, job.feather,
      job.tile.value_or(-1), job.window.value_or(-1), job.window_overlap, job.window_batch, job.encoder,
      job.preset, job.crf.value_or(-1), job.threads, mode_name(job.mode), job.streams, job.tokens,
      job.decoder_threads, job.encoder_threads, precision_name(job.precision), job.max_memory, job.tune,
      job.max_mask_change, options.target_fps, options.max_latency_ms, options.max_memory);
}

SettingValues read_settings(std::span<const std::byte> bytes) {
  ArchiveReader in(bytes);
  SettingValues settings;
  const auto count = in.number<std::uint64_t>();
  if (count > kMostSettings) throw Error(ErrorCode::io, "too many settings");
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name = in.text();
    settings.emplace_back(std::move(name), in.text());
  }
  return settings;
}

/// A picture says so before any trial. What is no regular file is refused without a look into it.
void require_video(const JobOptions& job, const std::atomic<bool>* cancel) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(job.input, ignored)) return;
  const media::Source source(job.input, {.stream = job.stream,
                                         .cancel = cancel,
                                         .limits = job.media_limits,
                                         .input_options = job.input_options});
  if (source.still()) throw tune::single_picture(job.input);
}

}  // namespace

OptimizeReport optimize(const JobOptions& job, const OptimizeOptions& options,
                        const OptimizeCallbacks& callbacks) {
  require_video(job, callbacks.cancel);
  const auto cache = runtime::PlanCache::open(job.plan_cache);
  if (cache == nullptr) return tune::optimize(job, options, callbacks, run_job);
  const std::string model = Model::load(job.model, job.limits, job.plan_cache).impl().identity;
  tune::Memory memory;
  memory.recall = [&](const JobReport& first) -> SettingValues {
    const std::string key = key_of(job, options, model, first);
    const auto entry = key.empty() ? std::nullopt : cache->find(kTuning, key);
    if (!entry) return {};
    try {
      return read_settings(entry->head);
    } catch (const Error& error) {
      log::debug("cache", "settings that were found are of no use: {}", error.what());
      cache->remove(kTuning, key);
      return {};
    }
  };
  memory.keep = [&](const JobReport& first, const SettingValues& best) {
    const std::string key = key_of(job, options, model, first);
    if (key.empty()) return;
    ArchiveWriter out;
    out.number(static_cast<std::uint64_t>(best.size()));
    for (const auto& [name, value] : best) {
      out.text(name);
      out.text(value);
    }
    cache->keep(kTuning, key, out.bytes(), {});
  };
  return tune::optimize(job, options, callbacks, run_job, memory);
}

}  // namespace saccade
