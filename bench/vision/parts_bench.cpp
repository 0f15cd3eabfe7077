// Windows and tiles put together, beside the floor: what must be read and written.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench_frames.h"
#include "vision/mosaic.h"

namespace saccade::vision {
namespace {

constexpr int kWindow = 256;

struct Case {
  const char* name;
  OutputKind kind;
  int channels;
  bool tiles;
};

PartsAxis axis_of(int pixels, bool tiles) {
  return tiles ? tile_axis(pixels, kWindow, {1, 1, 32, 32, 8})
               : window_axis(pixels, kWindow, kWindow, 0.5, true);
}

std::vector<float> some_result(int channels) {
  std::vector<float> values(static_cast<std::size_t>(channels) * kWindow * kWindow);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 1009;
  return values;
}

/// All parts of a 1080p picture, without the network.
void mosaic(benchmark::State& state, const Case& what, Isa isa) {
  if (isa > detected_isa()) return state.SkipWithError("this machine lacks the instruction set");
  OutputSpec spec;
  spec.kind = what.kind;
  const Mosaic stage(axis_of(1920, what.tiles), axis_of(1080, what.tiles), spec,
                     {DType::f32, what.channels, kWindow, kWindow}, {}, what.channels > 1, true, isa);
  Mosaic::State memory = stage.make_state();
  const std::vector<float> result = some_result(what.channels);
  const int rows = static_cast<int>(stage.down().parts.size()),
            columns = static_cast<int>(stage.across().parts.size());
  for (auto _ : state) {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) stage.add(result.data(), r, c, memory);
      stage.finish_row(r, memory);
    }
    benchmark::DoNotOptimize(memory.mask());
  }
  // Each window's result is read, and added to what lies there; each row is read once more and becomes a
  // float.
  const double window = 4.0 * what.channels * kWindow * kWindow * rows * columns;
  const double bytes = window * (what.tiles ? 2 : 3) + 4.0 * 1920 * 1080 * (what.channels + 1);
  state.counters["bytes/s"] =
      benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
  bench::report_pixels(state, 1920, 1080);
}

/// The floor's bandwidth: a row of windows' results added to sums that lie in the same cache as there.
void floor_of(benchmark::State& state, int channels) {
  const std::vector<float> result = some_result(channels);
  std::vector<float> sums(static_cast<std::size_t>(channels) * kWindow * 1920);
  const std::size_t n = result.size();
  for (auto _ : state) {
    for (std::size_t at = 0; at + n <= sums.size(); at += n) {
      const float* in = result.data();
      float* out = sums.data() + at;
      for (std::size_t i = 0; i < n; ++i) out[i] += in[i];
    }
    benchmark::ClobberMemory();
  }
  const double bytes = 12.0 * static_cast<double>(sums.size() / n * n);
  state.counters["bytes/s"] =
      benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

constexpr Case kCases[] = {{"windows/probability", OutputKind::probability, 1, false},
                           {"windows/21_classes", OutputKind::class_logits, 21, false},
                           {"tiles/probability", OutputKind::probability, 1, true},
                           {"tiles/21_classes", OutputKind::class_logits, 21, true}};

}  // namespace

void bench::register_parts() {
  const auto add = [](const std::string& name, auto function) {
    benchmark::RegisterBenchmark(name.c_str(), function)->Unit(benchmark::kMicrosecond);
  };
  for (const int channels : {1, 21})
    add("parts/1080p/floor/" + std::to_string(channels), [channels](auto& s) { floor_of(s, channels); });
  for (const Case& what : kCases)
    for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
      add(std::string("parts/1080p/") + what.name + "/" + isa_name(isa),
          [&what, isa](auto& s) { mosaic(s, what, isa); });
}

}  // namespace saccade::vision
