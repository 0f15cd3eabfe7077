#include "vision/color.h"

#include <algorithm>
#include <cmath>

namespace saccade::vision {

namespace {

struct NamedColor {
  std::string_view name;
  Rgb rgb;
};
constexpr NamedColor kNamedColors[] = {
    {"black", {0, 0, 0}},       {"silver", {192, 192, 192}}, {"gray", {128, 128, 128}},
    {"grey", {128, 128, 128}},  {"white", {255, 255, 255}},  {"maroon", {128, 0, 0}},
    {"red", {255, 0, 0}},       {"purple", {128, 0, 128}},   {"fuchsia", {255, 0, 255}},
    {"magenta", {255, 0, 255}}, {"green", {0, 128, 0}},      {"lime", {0, 255, 0}},
    {"olive", {128, 128, 0}},   {"yellow", {255, 255, 0}},   {"navy", {0, 0, 128}},
    {"blue", {0, 0, 255}},      {"teal", {0, 128, 128}},     {"aqua", {0, 255, 255}},
    {"cyan", {0, 255, 255}},    {"orange", {255, 165, 0}},
};

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<Rgb> parse_hex(std::string_view text) noexcept {
  if (text.size() != 6) return std::nullopt;
  std::array<std::uint8_t, 3> v{};
  for (std::size_t i = 0; i < 3; ++i) {
    const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    v[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return Rgb{v[0], v[1], v[2]};
}

std::optional<Rgb> parse_triple(std::string_view text) noexcept {
  std::array<int, 3> v{};
  std::size_t index = 0, digits = 0;
  for (const char c : text) {
    if (c == ',') {
      if (digits == 0 || ++index > 2) return std::nullopt;
      digits = 0;
    } else if (c >= '0' && c <= '9') {
      v[index] = v[index] * 10 + (c - '0');
      if (++digits > 3 || v[index] > 255) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (index != 2 || digits == 0) return std::nullopt;
  return Rgb{static_cast<std::uint8_t>(v[0]), static_cast<std::uint8_t>(v[1]),
             static_cast<std::uint8_t>(v[2])};
}

// Stored numbers of black, of the span from black to white, of zero chroma and of the chroma span from -0.5
// to 0.5.
struct Levels {
  double black, luma_span, neutral, chroma_span;
};
Levels levels(Range range, int depth) noexcept {
  const double unit = std::ldexp(1.0, depth - 8);
  if (range == Range::limited) return {16 * unit, 219 * unit, 128 * unit, 224 * unit};
  const double top = std::ldexp(1.0, depth) - 1;
  return {0, top, 128 * unit, top};
}

}  // namespace

std::optional<Rgb> parse_rgb(std::string_view text) noexcept {
  for (const NamedColor& named : kNamedColors)
    if (named.name == text) return named.rgb;
  if (text.find(',') != std::string_view::npos) return parse_triple(text);
  if (!text.empty() && text.front() == '#') text.remove_prefix(1);
  return parse_hex(text);
}

LumaWeights luma_weights(Matrix matrix) noexcept {
  switch (matrix) {
    case Matrix::bt601:
      return {0.299, 0.114};
    case Matrix::bt709:
      return {0.2126, 0.0722};
    case Matrix::bt2020nc:
      return {0.2627, 0.0593};
    case Matrix::smpte240m:
      return {0.212, 0.087};
    case Matrix::fcc:
      return {0.30, 0.11};
  }
  return {0.2126, 0.0722};
}

YuvToRgb yuv_to_rgb(const ColorSpec& color, int depth) noexcept {
  const auto [kr, kb] = luma_weights(color.matrix);
  const double kg = 1 - kr - kb;
  const Levels l = levels(color.range, depth);
  const double luma = 255 / l.luma_span, chroma = 255 / l.chroma_span;
  YuvToRgb t{};
  t.m[0] = {luma, 0, 2 * (1 - kr) * chroma};
  t.m[1] = {luma, -2 * (1 - kb) * kb / kg * chroma, -2 * (1 - kr) * kr / kg * chroma};
  t.m[2] = {luma, 2 * (1 - kb) * chroma, 0};
  for (std::size_t c = 0; c < 3; ++c)
    t.offset[c] = -(t.m[c][0] * l.black + (t.m[c][1] + t.m[c][2]) * l.neutral);
  return t;
}

YuvToRgb rgb_to_yuv(const ColorSpec& color, int depth) noexcept {
  const auto [kr, kb] = luma_weights(color.matrix);
  const double kg = 1 - kr - kb;
  const Levels l = levels(color.range, depth);
  const double luma = l.luma_span / 255, chroma = l.chroma_span / 255;
  const double u = chroma / (2 * (1 - kb)), v = chroma / (2 * (1 - kr));
  YuvToRgb t{};
  t.m[0] = {kr * luma, kg * luma, kb * luma};
  t.m[1] = {-kr * u, -kg * u, (1 - kb) * u};
  t.m[2] = {(1 - kr) * v, -kg * v, -kb * v};
  t.offset = {l.black, l.neutral, l.neutral};
  return t;
}

YuvToRgb samples_to_rgb(PixelFormat format, const ColorSpec& color) noexcept {
  const FormatInfo& info = format_info(format);
  YuvToRgb t{};
  if (info.model == ColorModel::rgb) {
    for (std::size_t c = 0; c < 3; ++c) t.m[c][c] = 255.0 / info.max_value();
    return t;
  }
  t = yuv_to_rgb(color, info.depth);
  if (info.model == ColorModel::yuv) return t;
  const double luma = t.m[0][0];
  const double black = t.offset[0] + t.m[0][2] * std::ldexp(1.0, info.depth - 1);
  for (std::size_t c = 0; c < 3; ++c) {
    t.m[c] = {luma, 0, 0};
    t.offset[c] = black;
  }
  return t;
}

YuvToRgb rgb_to_samples(PixelFormat format, const ColorSpec& color) noexcept {
  const FormatInfo& info = format_info(format);
  if (info.model != ColorModel::rgb) return rgb_to_yuv(color, info.depth);
  YuvToRgb t{};
  for (std::size_t c = 0; c < 3; ++c) t.m[c][c] = info.max_value() / 255.0;
  return t;
}

std::array<int, 3> color_samples(Rgb color, PixelFormat format, const ColorSpec& spec) noexcept {
  const FormatInfo& info = format_info(format);
  const std::array<double, 3> rgb = {static_cast<double>(color.r), static_cast<double>(color.g),
                                     static_cast<double>(color.b)};
  const YuvToRgb t = rgb_to_samples(format, spec);
  std::array<int, 3> samples{};
  for (std::size_t c = 0; c < info.colors; ++c) {
    double v = t.offset[c];
    for (std::size_t k = 0; k < 3; ++k) v += t.m[c][k] * rgb[k];
    samples[c] =
        static_cast<int>(std::clamp(std::floor(v + 0.5), 0.0, static_cast<double>(info.max_value())));
  }
  return samples;
}

}  // namespace saccade::vision
