// Colours and matrices: what YUV numbers mean in each ColorSpec.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "vision/picture.h"

namespace saccade::vision {

/// A colour as people write it: full-range 8-bit R'G'B'.
struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Rgb&) const = default;
};

/// "#rrggbb", "rrggbb", "r,g,b" or a CSS basic colour name; empty if it is none of them.
std::optional<Rgb> parse_rgb(std::string_view text) noexcept;

/// Luma weights of red and blue.
struct LumaWeights {
  double kr, kb;
};
LumaWeights luma_weights(Matrix matrix) noexcept;

/// v = m * (y, u, v) + offset with y, u, v as stored at `depth` bits and R, G, B in 0..255.
struct YuvToRgb {
  std::array<std::array<double, 3>, 3> m;
  std::array<double, 3> offset;
};
YuvToRgb yuv_to_rgb(const ColorSpec& color, int depth) noexcept;
/// The inverse: stored y, u, v (not rounded) from R, G, B in 0..255.
YuvToRgb rgb_to_yuv(const ColorSpec& color, int depth) noexcept;

/// The same for the components of any format: R, G, B as they are, grey as luma with neutral chroma.
YuvToRgb samples_to_rgb(PixelFormat format, const ColorSpec& color) noexcept;
YuvToRgb rgb_to_samples(PixelFormat format, const ColorSpec& color) noexcept;

/// A colour in the components of a format: Y,U,V or R,G,B or grey, rounded to the nearest sample value.
std::array<int, 3> color_samples(Rgb color, PixelFormat format, const ColorSpec& spec) noexcept;

}  // namespace saccade::vision
