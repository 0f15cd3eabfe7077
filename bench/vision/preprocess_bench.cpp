#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench_frames.h"
#include "vision/preprocess.h"

namespace saccade::vision {
namespace {

void preprocess(benchmark::State& state, PixelFormat format, int width, int height, int side, ResizeRule rule,
                Isa isa, Rotation rotation) {
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

}  // namespace

void bench::register_preprocess() {
  const auto add = [](const std::string& name, PixelFormat format, int width, int height, int side,
                      ResizeRule rule, Isa isa, Rotation rotation = Rotation::none) {
    benchmark::RegisterBenchmark(("preprocess/" + name).c_str(), [=](benchmark::State& state) {
      preprocess(state, format, width, height, side, rule, isa, rotation);
    })->Unit(benchmark::kMicrosecond);
  };
  constexpr PixelFormat kByte = PixelFormat::yuv420p;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
    add(std::string("1080p_to_256/bilinear/") + isa_name(isa), kByte, 1920, 1080, 256, ResizeRule::bilinear,
        isa);
  const Isa isa = std::min(detected_isa(), Isa::avx512);
  add("1080p_to_256/mediapipe", kByte, 1920, 1080, 256, ResizeRule::mediapipe, isa);
  add("1080p_to_256/area", kByte, 1920, 1080, 256, ResizeRule::area, isa);
  add("1080p_to_512/bilinear", kByte, 1920, 1080, 512, ResizeRule::bilinear, isa);
  add("4k_to_256/bilinear", kByte, 3840, 2160, 256, ResizeRule::bilinear, isa);
  add("1080p_10bit_to_256/bilinear", PixelFormat::yuv420p10, 1920, 1080, 256, ResizeRule::bilinear, isa);
  add("1080p_nv12_to_256/bilinear", PixelFormat::nv12, 1920, 1080, 256, ResizeRule::bilinear, isa);
  add("1080p_rgb24_to_256/bilinear", PixelFormat::rgb24, 1920, 1080, 256, ResizeRule::bilinear, isa);
  add("1080p_turned_to_256/bilinear", kByte, 1920, 1080, 256, ResizeRule::bilinear, isa,
      Rotation::clockwise_90);
}

}  // namespace saccade::vision
