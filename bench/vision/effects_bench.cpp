#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "bench_frames.h"
#include "vision/composite.h"
#include "vision/mask.h"
#include "vision/refine.h"

namespace saccade::vision {
namespace {

constexpr int kFrames = 8;

struct Size {
  int width, height;
};
constexpr Size k1080p{1920, 1080}, k4k{3840, 2160};

// A person's outline as a network gives it: sure inside and outside, a soft edge between, a third of the
// picture.
std::vector<float> person_mask(int side) {
  std::vector<float> mask;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const double u = (x + 0.5) / side - 0.5, v = (y + 0.5) / side;
      const double head = 0.16 - std::hypot(u, (v - 0.3) * 0.8),
                   body = v > 0.42 ? 0.28 * std::sqrt((v - 0.42) / 0.58) - std::abs(u) : -1.0;
      mask.push_back(static_cast<float>(1 / (1 + std::exp(-120 * std::max(head, body)))));
    }
  for (float& p : mask) p = p < 0.001f ? 0.0f : (p > 0.999f ? 1.0f : p);
  return mask;
}

PictureSpec spec_of(PixelFormat format, Size size) {
  return {format, size.width, size.height, {}, Rotation::none, 1};
}

Masker make_masker(PixelFormat format, Size size, const MaskOptions& options, Isa isa) {
  return {make_geometry(spec_of(format, size), Fit::stretch, 256, 256),
          {},
          {DType::f32, 1, 256, 256},
          options,
          format_info(format).depth,
          isa};
}

void mask(benchmark::State& state, PixelFormat format, Size size, MaskOptions options, Isa isa) {
  if (isa > detected_isa()) return state.SkipWithError("this machine lacks the instruction set");
  const std::vector<float> output = person_mask(256);
  const Masker stage = make_masker(format, size, options, isa);
  const Plane alpha(size.width, size.height, format_info(format).depth);
  Workspace workspace;
  for (auto _ : state) stage.run(output.data(), alpha.view(), workspace);
  bench::report_pixels(state, size.width, size.height);
}

void effect(benchmark::State& state, PixelFormat format, Size size, Effect kind, bool with_mask, Isa isa) {
  if (isa > detected_isa()) return state.SkipWithError("this machine lacks the instruction set");
  const std::vector<Picture> frames = bench::noise_frames(format, size.width, size.height, kFrames);
  const std::vector<Picture> targets = bench::noise_frames(format, size.width, size.height, 2);
  const std::vector<float> output = person_mask(256);
  const Masker masker = make_masker(format, size, {}, isa);
  const Plane alpha(size.width, size.height, format_info(format).depth);
  Workspace workspace;
  masker.run(output.data(), alpha.view(), workspace);
  EffectOptions options;
  options.effect = kind;
  const Compositor stage(spec_of(format, size), format, options, isa);
  std::size_t i = 0;
  for (auto _ : state) {
    if (with_mask) masker.run(output.data(), alpha.view(), workspace);
    stage.run({frames[i % frames.size()].view(), alpha.view(), targets[i % 2].view(), nullptr, nullptr},
              workspace);
    ++i;
  }
  bench::report_pixels(state, size.width, size.height);
}

/// The guided filter on a person's mask; `copies` of the mask are refined in turn, since the filter works in
/// place.
void refine(benchmark::State& state, PixelFormat format, Size size, Isa isa) {
  if (isa > detected_isa()) return state.SkipWithError("this machine lacks the instruction set");
  const std::vector<Picture> frames = bench::noise_frames(format, size.width, size.height, kFrames);
  const std::vector<float> output = person_mask(256);
  const int depth = format_info(format).depth;
  const Plane plain(size.width, size.height, depth), alpha(size.width, size.height, depth);
  Workspace workspace;
  make_masker(format, size, {}, isa).run(output.data(), plain.view(), workspace);
  const MaskRefiner stage(spec_of(format, size), refine_radius(size.width, size.height), isa);
  const auto bytes = static_cast<std::size_t>(plain.view().stride) * static_cast<std::size_t>(size.height);
  std::size_t i = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::memcpy(alpha.view().data, plain.view().data, bytes);
    state.ResumeTiming();
    stage.run(frames[i++ % frames.size()].view(), alpha.view(), workspace);
  }
  bench::report_pixels(state, size.width, size.height);
}

/// Its floor: luma and alpha read once, alpha written once.
void refine_floor(benchmark::State& state, Size size) {
  const std::vector<Picture> frames =
      bench::noise_frames(PixelFormat::yuv420p, size.width, size.height, kFrames);
  const Plane alpha(size.width, size.height, 8);
  std::size_t i = 0;
  for (auto _ : state) {
    const PictureView& frame = frames[i++ % frames.size()].view();
    for (int y = 0; y < size.height; ++y) {
      const std::uint8_t* luma = frame.planes[0] + frame.strides[0] * y;
      std::uint8_t* out = alpha.view().data + alpha.view().stride * y;
      for (int x = 0; x < size.width; ++x) out[x] = static_cast<std::uint8_t>(out[x] ^ luma[x]);
    }
    benchmark::ClobberMemory();
  }
  bench::report_pixels(state, size.width, size.height);
}

void class_map(benchmark::State& state, int low, int classes, Size size, Isa isa) {
  if (isa > detected_isa()) return state.SkipWithError("this machine lacks the instruction set");
  OutputSpec spec;
  spec.kind = OutputKind::class_logits;
  std::vector<float> logits;
  for (int c = 0; c < classes; ++c)
    for (int y = 0; y < low; ++y)
      for (int x = 0; x < low; ++x)
        logits.push_back(
            static_cast<float>(4 * std::sin(0.1 * x * (c % 5 + 1) + c) * std::cos(0.07 * y * (c % 7) - c)));
  const ClassMapper stage(make_geometry(spec_of(PixelFormat::yuv420p, size), Fit::stretch, low, low), spec,
                          {DType::f32, classes, low, low}, isa);
  const Plane plane(size.width, size.height);
  Workspace workspace;
  for (auto _ : state) stage.run(logits.data(), plane.view(), workspace);
  bench::report_pixels(state, size.width, size.height);
}

MaskOptions shaped(float grow, float feather) {
  MaskOptions options;
  options.grow = grow;
  options.feather = feather;
  return options;
}
MaskOptions hard() {
  MaskOptions options;
  options.threshold = 0.5f;
  return options;
}

constexpr PixelFormat kByte = PixelFormat::yuv420p, kTen = PixelFormat::yuv420p10;

}  // namespace

void bench::register_effects() {
  const auto add = [](const std::string& name, auto function) {
    benchmark::RegisterBenchmark(name.c_str(), function)->Unit(benchmark::kMicrosecond);
  };
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    const std::string tail = std::string("/") + isa_name(isa);
    add("mask/1080p/soft" + tail, [isa](auto& s) { mask(s, kByte, k1080p, {}, isa); });
    add("effect/1080p/blur" + tail, [isa](auto& s) { effect(s, kByte, k1080p, Effect::blur, false, isa); });
    add("effect/1080p/remove" + tail,
        [isa](auto& s) { effect(s, kByte, k1080p, Effect::remove, false, isa); });
  }
  const Isa isa = std::min(detected_isa(), Isa::avx512);
  add("mask/1080p/hard", [isa](auto& s) { mask(s, kByte, k1080p, hard(), isa); });
  add("mask/1080p/grow_3", [isa](auto& s) { mask(s, kByte, k1080p, shaped(3, 0), isa); });
  add("mask/1080p/feather_3", [isa](auto& s) { mask(s, kByte, k1080p, shaped(0, 3), isa); });
  add("mask/1080p/soft_10bit", [isa](auto& s) { mask(s, kTen, k1080p, {}, isa); });
  add("refine/1080p/floor", [](auto& s) { refine_floor(s, k1080p); });
  add("refine/1080p/8bit", [isa](auto& s) { refine(s, kByte, k1080p, isa); });
  add("refine/1080p/10bit", [isa](auto& s) { refine(s, kTen, k1080p, isa); });
  add("mask/4k/soft", [isa](auto& s) { mask(s, kByte, k4k, {}, isa); });
  add("mask_and_effect/1080p/remove",
      [isa](auto& s) { effect(s, kByte, k1080p, Effect::remove, true, isa); });
  add("mask_and_effect/1080p/blur", [isa](auto& s) { effect(s, kByte, k1080p, Effect::blur, true, isa); });
  add("effect/1080p/mask", [isa](auto& s) { effect(s, kByte, k1080p, Effect::mask, false, isa); });
  add("effect/1080p/overlay", [isa](auto& s) { effect(s, kByte, k1080p, Effect::overlay, false, isa); });
  add("effect/1080p/blur_10bit", [isa](auto& s) { effect(s, kTen, k1080p, Effect::blur, false, isa); });
  add("effect/1080p/remove_10bit", [isa](auto& s) { effect(s, kTen, k1080p, Effect::remove, false, isa); });
  add("effect/1080p/blur_444",
      [isa](auto& s) { effect(s, PixelFormat::yuv444p, k1080p, Effect::blur, false, isa); });
  add("effect/1080p/blur_rgb24",
      [isa](auto& s) { effect(s, PixelFormat::rgb24, k1080p, Effect::blur, false, isa); });
  add("effect/4k/blur", [isa](auto& s) { effect(s, kByte, k4k, Effect::blur, false, isa); });
  add("effect/4k/remove", [isa](auto& s) { effect(s, kByte, k4k, Effect::remove, false, isa); });
  add("effect/720p/blur", [isa](auto& s) { effect(s, kByte, {1280, 720}, Effect::blur, false, isa); });
  add("class_map/64x64x21_to_512", [isa](auto& s) { class_map(s, 64, 21, {512, 512}, isa); });
  add("class_map/64x64x21_to_1080p", [isa](auto& s) { class_map(s, 64, 21, k1080p, isa); });
}

}  // namespace saccade::vision
