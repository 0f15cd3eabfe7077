#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bench_frames.h"
#include "vision/preprocess.h"

namespace saccade::vision {
namespace {

void preprocess(benchmark::State& state, PixelFormat format, int width, int height, int side, ResizeRule rule,
                Isa isa, Rotation rotation = Rotation::none) {
  if (isa > detected_isa()) return state.SkipWithError("this machine lacks the instruction set");
  const std::vector<Picture> frames = bench::noise_frames(format, width, height, 8);
  InputSpec input;
  input.layout = TensorLayout::nhwc;
  input.resize = rule;
  const Preprocessor stage({format, width, height, {}, rotation, 1}, input, side, side, isa);
  std::vector<float> out(static_cast<std::size_t>(stage.output_count()));
  Workspace workspace;
  std::size_t i = 0;
  for (auto _ : state) {
    stage.run(frames[i++ % frames.size()].view(), out.data(), workspace);
    benchmark::DoNotOptimize(out.data());
  }
  bench::report_pixels(state, width, height);
}

#define SACCADE_BENCH(name, ...) \
  BENCHMARK_CAPTURE(preprocess, name, __VA_ARGS__)->Unit(benchmark::kMicrosecond)
SACCADE_BENCH(yuv420p_1080p_to_256_bilinear_avx2, PixelFormat::yuv420p, 1920, 1080, 256, ResizeRule::bilinear,
              Isa::avx2);
SACCADE_BENCH(yuv420p_1080p_to_256_bilinear_portable, PixelFormat::yuv420p, 1920, 1080, 256,
              ResizeRule::bilinear, Isa::portable);
SACCADE_BENCH(yuv420p_1080p_to_256_mediapipe_avx2, PixelFormat::yuv420p, 1920, 1080, 256,
              ResizeRule::mediapipe, Isa::avx2);
SACCADE_BENCH(yuv420p_1080p_to_512_bilinear_avx2, PixelFormat::yuv420p, 1920, 1080, 512, ResizeRule::bilinear,
              Isa::avx2);
SACCADE_BENCH(yuv420p_1080p_to_256_area_avx2, PixelFormat::yuv420p, 1920, 1080, 256, ResizeRule::area,
              Isa::avx2);
SACCADE_BENCH(yuv420p_4k_to_256_bilinear_avx2, PixelFormat::yuv420p, 3840, 2160, 256, ResizeRule::bilinear,
              Isa::avx2);
SACCADE_BENCH(yuv420p10_1080p_to_256_bilinear_avx2, PixelFormat::yuv420p10, 1920, 1080, 256,
              ResizeRule::bilinear, Isa::avx2);
SACCADE_BENCH(nv12_1080p_to_256_bilinear_avx2, PixelFormat::nv12, 1920, 1080, 256, ResizeRule::bilinear,
              Isa::avx2);
SACCADE_BENCH(rgb24_1080p_to_256_bilinear_avx2, PixelFormat::rgb24, 1920, 1080, 256, ResizeRule::bilinear,
              Isa::avx2);
SACCADE_BENCH(yuv420p_1080p_turned_to_256_bilinear_avx2, PixelFormat::yuv420p, 1920, 1080, 256,
              ResizeRule::bilinear, Isa::avx2, Rotation::clockwise_90);

}  // namespace
}  // namespace saccade::vision
