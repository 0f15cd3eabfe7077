// Micro-benchmarks of vision: a frame a stage. `--benchmark_filter=effect/1080p` chooses.
#include <benchmark/benchmark.h>

#include "bench_frames.h"

int main(int argc, char** argv) {
  saccade::vision::bench::register_preprocess();
  saccade::vision::bench::register_effects();
  saccade::vision::bench::register_parts();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
