#include "trials.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cpu/ceilings.h"
#include "cpu/target.h"
#include "pipeline/model_network.h"
#include "platform/thread_pool.h"
#include "runtime/plan.h"
#include "trace/stage_clock.h"

namespace saccade::api {

namespace {

constexpr int kTrialRuns = 7;
constexpr double kTrialSeconds = 0.3;  ///< of one contender, about
constexpr double kMostCrowding = 2;

/// A plan ready to run.
struct Contender {
  explicit Contender(const Plan& plan) : context(plan.make_context({.threads = 1, .profiler = nullptr})) {
    for (const TensorInfo& info : plan.inputs()) {
      inputs.emplace_back(info.dtype, info.shape);
      std::memset(inputs.back().raw(), 0, inputs.back().bytes());
    }
    for (const TensorInfo& info : plan.outputs()) outputs.emplace_back(info.dtype, info.shape);
    const auto start = trace::thread_cpu_time();
    context.run(inputs, outputs);  // touches the memory
    const double seconds = std::chrono::duration<double>(trace::thread_cpu_time() - start).count();
    runs = std::clamp(static_cast<int>(kTrialSeconds / std::max(seconds, 1e-6)), 1, kTrialRuns);
  }
  void run() {
    const auto start = trace::thread_cpu_time();
    context.run(inputs, outputs);
    times.push_back(trace::thread_cpu_time() - start);
  }
  double median() {
    std::sort(times.begin(), times.end());
    return std::chrono::duration<double>(times[times.size() / 2]).count();
  }

  Context context;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::chrono::nanoseconds> times;
  int runs = 1;  ///< that there is time for
};

/// The mean of the medians of that many contenders that run at once, each on a thread of its own. Throws
/// where there are no threads for them, or a run fails.
double median_together(const std::vector<std::unique_ptr<Contender>>& together) {
  const int threads = static_cast<int>(together.size());
  std::atomic<int> ready{0}, done{0};
  std::atomic<bool> given_up{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&](Contender& own) {
    try {
      // Whoever is done goes on until all are, so that each has had company all the time.
      for (ready.fetch_add(1); ready.load() < threads && !given_up;) std::this_thread::yield();
      for (int i = 0; i < own.runs && !given_up; ++i) own.run();
      done.fetch_add(1);
      while (done.load() < threads && !given_up) own.context.run(own.inputs, own.outputs);
    } catch (...) {
      given_up = true;
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;  // joined whatever happens
    try {
      for (const auto& contender : together) workers.emplace_back(work, std::ref(*contender));
    } catch (...) {
      given_up = true;
      throw;
    }
  }
  if (failure) std::rethrow_exception(failure);
  double sum = 0;
  for (const auto& contender : together) sum += contender->median();
  return sum / threads;
}

std::vector<std::unique_ptr<Contender>> contenders(const Plan& plan, int count) {
  std::vector<std::unique_ptr<Contender>> result;
  for (int i = 0; i < count; ++i) result.push_back(std::make_unique<Contender>(plan));
  return result;
}

/// The time of a run of one plan over that of another, each as often at once as the job ran its network: what
/// they share, caches and memory, is part of it.
double ratio_together(const Plan& then, const Plan& now, int streams) {
  // In turn, so that a change of the machine's speed meets both; one side's memory at a time, as in the job.
  double now_seconds = 0, then_seconds = 0;
  for (int round = 0; round < 2; ++round) {
    now_seconds += median_together(contenders(now, streams));
    then_seconds += median_together(contenders(then, streams));
  }
  return then_seconds / now_seconds;
}

/// The time of a run with other options over that of one with the job's. Nothing where there is no such
/// network.
std::optional<double> time_ratio(const JobOptions& options, const Plan& plan, std::int64_t max_memory,
                                 Precision precision, int streams) {
  try {
    pipeline::NetworkOptions wanted;
    wanted.max_isa = options.max_isa;
    wanted.tune = options.tune;
    wanted.max_memory = max_memory;
    wanted.precision.asked = precision;
    const auto network = pipeline::make_network(
        Model::load(options.model, options.limits, options.plan_cache), cpu::target(), wanted);
    return ratio_together(*network->plan(), plan, streams);
  } catch (const std::exception&) {
    return std::nullopt;  // a trial is no reason to fail; there may be no memory or threads for it
  }
}

/// The time of a row of windows one by one over that in batches.
std::optional<double> one_window_ratio(const JobOptions& options, const Plan& plan, int batch, int columns,
                                       int streams) {
  try {
    pipeline::NetworkOptions wanted;
    wanted.max_isa = options.max_isa;
    wanted.tune = options.tune;
    wanted.max_memory = options.max_memory;
    wanted.window = options.window;
    wanted.precision.asked = plan.impl().precision;
    const auto one = pipeline::make_network(Model::load(options.model, options.limits, options.plan_cache),
                                            cpu::target(), wanted);
    const auto many = one->with_input(one->input_width(), one->input_height(), batch);
    if (many == nullptr) return std::nullopt;
    return ratio_together(*one->plan(), *many->plan(), streams) * columns / ((columns - 1) / batch + 1);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// One run after the other on this thread, and then on so many threads at once.
double crowding_of(const Plan& plan, int threads) {
  try {
    Contender alone(plan);
    const auto together = contenders(plan, threads);
    for (int i = 0; i < alone.runs; ++i) alone.run();
    return std::clamp(median_together(together) / alone.median(), 1.0, kMostCrowding);
  } catch (const std::exception&) {
    return 1;  // no memory or threads for it
  }
}

}  // namespace

MachineLimits measure_limits(const Plan& plan, Isa isa, int threads) {
  const cpu::Ceilings measured = cpu::measure_ceilings(isa, threads);
  MachineLimits limits;
  limits.ceilings = {.threads = threads,
                     .fp32 = 2 * measured.fp32,
                     .bf16 = 2 * measured.bf16,
                     .int8 = 2 * measured.int8,
                     .levels = {}};
  std::int64_t second_cache = 0;
  for (const cpu::MemoryLevel& level : measured.levels) {
    const bool last = &level == &measured.levels.back();
    limits.ceilings.levels.push_back(
        {std::string(level.name), last ? 0 : level.bytes, level.read, level.write});
    if (level.name == "L2") second_cache = level.bytes / std::max(1, threads);
  }
  double all = 0, beyond = 0, large = 0;
  for (const compiler::Step& step : plan.impl().compiled.steps) {
    const cpu::Floor floor =
        cpu::floor_of(measured, measured.multiply_adds(step.kernel->name), step.kernel_multiply_adds(),
                      step.bytes - step.written_bytes, step.written_bytes);
    limits.floors.push_back({floor.ns(), std::string(floor.bound())});
    all += floor.ns();
    if (floor.level == "L3" || floor.level == "memory") large += floor.ns();
    if (floor.bound() == "L3" || floor.bound() == "memory") beyond += floor.ns();
  }
  limits.facts = {.known = true,
                  .floor_ns = all,
                  .memory_share = all > 0 ? beyond / all : 0,
                  .large_share = all > 0 ? large / all : 0,
                  .weight_bytes = plan.weight_bytes(),
                  .arena_bytes = plan.arena_bytes(),
                  .cache_bytes = second_cache};
  return limits;
}

void add_trials(const JobOptions& options, const Plan& plan, const pipeline::Measurements& measured,
                profile::Trials& trials) {
  trials.encode = measured.encode_trial;
  trials.encode_speedup = measured.encode_speedup;
  if (measured.batch > 1)
    trials.infer_one_window = [&options, &plan, &measured] {
      return one_window_ratio(options, plan, measured.batch, measured.columns, measured.streams);
    };
  if (options.max_memory > 0)
    trials.infer_without_cap = [&options, &plan, &measured] {
      return time_ratio(options, plan, 0, plan.impl().precision, measured.streams);
    };
  trials.infer_alone = [&plan]() -> std::optional<double> {
    Contender one(plan);
    for (int i = 0; i < one.runs; ++i) one.run();
    return one.median();
  };
  if (const int cpus = platform::available_cpus(); cpus > 1)
    trials.crowding = [&plan, cpus] { return crowding_of(plan, cpus); };
  const Isa isa = plan.impl().isa;
  if (options.precision == Precision::fp32 && (isa == Isa::amx || isa == Isa::avx512_bf16))
    trials.infer_bf16 = [&options, &plan, &measured] {
      return time_ratio(options, plan, options.max_memory, Precision::bf16, measured.streams);
    };
}

}  // namespace saccade::api
