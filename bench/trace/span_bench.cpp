// What a span costs, on and off.
#include <benchmark/benchmark.h>

#include <memory>

#include "saccade/profiler.h"
#include "trace/recorder.h"
#include "trace/stage_clock.h"

namespace saccade::trace {
namespace {

constexpr std::size_t kEvents = std::size_t{1} << 20;

void span_off(benchmark::State& state) {
  Recorder* recorder = nullptr;
  for (auto _ : state) {
    benchmark::DoNotOptimize(recorder);
    const Span span(recorder, 0);
  }
}
BENCHMARK(span_off);

void span_on(benchmark::State& state) {
  auto recorder =
      std::make_unique<Recorder>(RecorderOptions{.events_a_thread = kEvents, .threads = 1, .schedule = {}});
  const NameId name = recorder->name({.text = "x"});
  for (auto _ : state) const Span span(recorder.get(), name);
}
BENCHMARK(span_on)->Iterations(kEvents);

void span_outside_the_schedule(benchmark::State& state) {
  Profiler profiler({.wait = 1});
  const Profiler::Timer timer = profiler.timer("x");
  for (auto _ : state) const auto span = profiler.span(timer);
}
BENCHMARK(span_outside_the_schedule);

/// The clocks of stages, which are always on: wall and CPU time.
void stage_off(benchmark::State& state) {
  StageClock clock;
  for (auto _ : state) const StageClock::Scope timing(clock);
}
BENCHMARK(stage_off);

void stage_on(benchmark::State& state) {
  auto recorder =
      std::make_unique<Recorder>(RecorderOptions{.events_a_thread = kEvents, .threads = 1, .schedule = {}});
  StageClock clock;
  clock.attach(*recorder, "x");
  for (auto _ : state) const StageClock::Scope timing(clock);
}
BENCHMARK(stage_on)->Iterations(kEvents);

}  // namespace
}  // namespace saccade::trace
