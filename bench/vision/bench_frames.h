// Frames to measure on: several of them, so that they do not all sit in the nearest cache.
#pragma once

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "vision/picture.h"

namespace saccade::vision::bench {

void register_preprocess();
void register_effects();
void register_parts();

/// `count` pictures of noise around mid-grey.
inline std::vector<Picture> noise_frames(PixelFormat format, int width, int height, int count) {
  std::mt19937 random(1);
  std::vector<Picture> frames;
  for (int i = 0; i < count; ++i) {
    Picture picture(format, width, height);
    const FormatInfo& info = format_info(format);
    for (std::size_t p = 0; p < info.planes; ++p) {
      const int rows = info.is_chroma(static_cast<int>(p)) ? info.height_of(1, height) : height;
      for (int y = 0; y < rows; ++y) {
        std::uint8_t* row = picture.view().planes[p] + picture.view().strides[p] * y;
        for (std::ptrdiff_t x = 0; x < picture.view().strides[p]; ++x)
          row[x] =
              static_cast<std::uint8_t>(info.bytes() == 2 && x % 2 == 1 ? random() % 4 : 16 + random() % 220);
      }
    }
    frames.push_back(std::move(picture));
  }
  return frames;
}

/// Adds nanoseconds a pixel of the picture to the benchmark's own time.
inline void report_pixels(benchmark::State& state, int width, int height) {
  using benchmark::Counter;
  state.counters["s/pixel"] =
      Counter(static_cast<double>(width) * height, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

}  // namespace saccade::vision::bench
