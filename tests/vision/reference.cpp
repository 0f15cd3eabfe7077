#include "vision/reference.h"

#include <algorithm>
#include <cmath>

namespace saccade::vision::testing {

namespace {

constexpr std::uint8_t kGuard = 0xA5;
constexpr std::size_t kMargin = 32;

struct Weights {
  double kr, kb;
};
Weights weights(Matrix m) {
  switch (m) {
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
  return {0, 0};
}

}  // namespace

std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : kKernelIsas)
    if (isa <= detected_isa()) isas.push_back(isa);
  return isas;
}

std::vector<PixelFormat> all_formats() {
  std::vector<PixelFormat> formats;
  for (int i = 0; i < kPixelFormatCount; ++i) formats.push_back(static_cast<PixelFormat>(i));
  return formats;
}

GuardedPicture::GuardedPicture(PixelFormat format, int width, int height, ColorSpec color) {
  const Picture shape(format, width, height, color);
  view_ = shape.view();
  const FormatInfo& info = format_info(format);
  for (std::size_t p = 0; p < info.planes; ++p) {
    std::size_t samples = 0;
    int rows = height;
    for (int c = 0; c < info.colors + (info.alpha ? 1 : 0); ++c) {
      const Component part = info.component[static_cast<std::size_t>(c)];
      if (part.plane != p) continue;
      samples = static_cast<std::size_t>(info.width_of(c, width)) * part.step;
      rows = info.height_of(c, height);
    }
    row_bytes_[p] = samples * static_cast<std::size_t>(info.bytes());
    // An odd number of samples between rows.
    const std::size_t stride = row_bytes_[p] + static_cast<std::size_t>(info.bytes()) * (3 + p);
    storage_[p].assign(2 * kMargin + stride * static_cast<std::size_t>(rows), kGuard);
    view_.planes[p] = storage_[p].data() + kMargin;
    view_.strides[p] = static_cast<std::ptrdiff_t>(stride);
  }
}

bool GuardedPicture::intact() const {
  for (std::size_t p = 0; p < storage_.size(); ++p) {
    const auto stride = static_cast<std::size_t>(view_.strides[p]);
    for (std::size_t i = 0; i < storage_[p].size(); ++i) {
      const bool margin = i < kMargin || i >= storage_[p].size() - kMargin;
      const bool gap = !margin && (i - kMargin) % stride >= row_bytes_[p];
      if ((margin || gap) && storage_[p][i] != kGuard) return false;
    }
  }
  return true;
}

int get(const ConstPictureView& view, int component, int x, int y) {
  const FormatInfo& info = format_info(view.format);
  const Component part = info.component[static_cast<std::size_t>(component)];
  const std::uint8_t* row = view.planes[part.plane] + view.strides[part.plane] * y;
  const int index = part.offset + x * part.step;
  return info.bytes() == 2 ? reinterpret_cast<const std::uint16_t*>(row)[index] : row[index];
}

void set(const PictureView& view, int component, int x, int y, int value) {
  const FormatInfo& info = format_info(view.format);
  const Component part = info.component[static_cast<std::size_t>(component)];
  std::uint8_t* row = view.planes[part.plane] + view.strides[part.plane] * y;
  const int index = part.offset + x * part.step;
  if (info.bytes() == 2)
    reinterpret_cast<std::uint16_t*>(row)[index] = static_cast<std::uint16_t>(value);
  else
    row[index] = static_cast<std::uint8_t>(value);
}

namespace {

template <class Value>
void fill(const PictureView& view, Value value) {
  const FormatInfo& info = format_info(view.format);
  for (int c = 0; c < info.colors + (info.alpha ? 1 : 0); ++c)
    for (int y = 0; y < info.height_of(c, view.height); ++y)
      for (int x = 0; x < info.width_of(c, view.width); ++x) set(view, c, x, y, value(c, x, y));
}

}  // namespace

void fill_random(const PictureView& view, Generator& random) {
  std::uniform_int_distribution<int> sample(0, format_info(view.format).max_value());
  fill(view, [&](int, int, int) { return sample(random); });
}

void fill_smooth(const PictureView& view, Generator& random) {
  const FormatInfo& info = format_info(view.format);
  const double top = info.max_value();
  std::uniform_real_distribution<double> noise(-0.02, 0.02);
  fill(view, [&](int c, int x, int y) {
    const double sx = info.is_chroma(c) ? 1 << info.shift_x : 1,
                 sy = info.is_chroma(c) ? 1 << info.shift_y : 1;
    const double wave = 0.5 + 0.3 * std::sin(x * sx * 0.07 + c) * std::cos(y * sy * 0.05 - c) + noise(random);
    return static_cast<int>(std::clamp(wave * top, 0.0, top));
  });
}

void fill_flat(const PictureView& view, std::array<int, 4> samples) {
  fill(view, [&](int c, int, int) { return samples[static_cast<std::size_t>(c)]; });
}

std::int64_t differences(const ConstPictureView& a, const ConstPictureView& b) {
  const FormatInfo& info = format_info(a.format);
  std::int64_t count = 0;
  for (int c = 0; c < info.colors + (info.alpha ? 1 : 0); ++c)
    for (int y = 0; y < info.height_of(c, a.height); ++y)
      for (int x = 0; x < info.width_of(c, a.width); ++x) count += get(a, c, x, y) != get(b, c, x, y);
  return count;
}

int get(const ConstPlaneView& view, int x, int y) {
  const std::uint8_t* row = view.data + view.stride * y;
  return view.depth > 8 ? reinterpret_cast<const std::uint16_t*>(row)[x] : row[x];
}

void set(const PlaneView& view, int x, int y, int value) {
  std::uint8_t* row = view.data + view.stride * y;
  if (view.depth > 8)
    reinterpret_cast<std::uint16_t*>(row)[x] = static_cast<std::uint16_t>(value);
  else
    row[x] = static_cast<std::uint8_t>(value);
}

std::array<double, 2> first_position(const ConstPictureView& view, int component) {
  const FormatInfo& info = format_info(view.format);
  if (!info.is_chroma(component)) return {0, 0};
  const ChromaLocation l = view.color.chroma;
  const bool left =
      l == ChromaLocation::left || l == ChromaLocation::top_left || l == ChromaLocation::bottom_left;
  const bool top = l == ChromaLocation::top || l == ChromaLocation::top_left;
  const bool bottom = l == ChromaLocation::bottom || l == ChromaLocation::bottom_left;
  return {info.shift_x == 0 || left ? 0.0 : 0.5, info.shift_y == 0 || top ? 0.0 : (bottom ? 1.0 : 0.5)};
}

double component_at(const ConstPictureView& view, int component, double x, double y) {
  const FormatInfo& info = format_info(view.format);
  const auto [fx, fy] = first_position(view, component);
  const int w = info.width_of(component, view.width), h = info.height_of(component, view.height);
  if (info.is_chroma(component)) {
    x = (x - fx) / (1 << info.shift_x);
    y = (y - fy) / (1 << info.shift_y);
  }
  x = std::clamp(x, 0.0, w - 1.0);
  y = std::clamp(y, 0.0, h - 1.0);
  const int x0 = static_cast<int>(x), y0 = static_cast<int>(y);
  const int x1 = std::min(x0 + 1, w - 1), y1 = std::min(y0 + 1, h - 1);
  const double u = x - x0, v = y - y0;
  return (get(view, component, x0, y0) * (1 - u) + get(view, component, x1, y0) * u) * (1 - v) +
         (get(view, component, x0, y1) * (1 - u) + get(view, component, x1, y1) * u) * v;
}

std::array<double, 3> to_rgb(const ConstPictureView& view, std::array<double, 3> s) {
  const FormatInfo& info = format_info(view.format);
  std::array<double, 3> rgb{};
  if (info.model == ColorModel::rgb) {
    for (std::size_t c = 0; c < 3; ++c) rgb[c] = s[c] * 255 / info.max_value();
    return rgb;
  }
  const double unit = std::ldexp(1.0, info.depth - 8);
  const bool limited = view.color.range == Range::limited;
  const double y = limited ? (s[0] - 16 * unit) / (219 * unit) : s[0] / info.max_value();
  const double span = limited ? 224 * unit : info.max_value();
  const double u = info.model == ColorModel::gray ? 0 : (s[1] - 128 * unit) / span;
  const double v = info.model == ColorModel::gray ? 0 : (s[2] - 128 * unit) / span;
  const auto [kr, kb] = weights(view.color.matrix);
  rgb[0] = y + 2 * (1 - kr) * v;
  rgb[2] = y + 2 * (1 - kb) * u;
  rgb[1] = (y - kr * rgb[0] - kb * rgb[2]) / (1 - kr - kb);
  for (double& c : rgb) c = std::clamp(c * 255, 0.0, 255.0);
  return rgb;
}

std::array<double, 3> rgb_at(const ConstPictureView& view, double x, double y) {
  std::array<double, 3> s{};
  for (int c = 0; c < format_info(view.format).colors; ++c)
    s[static_cast<std::size_t>(c)] = component_at(view, c, x, y);
  return to_rgb(view, s);
}

std::array<double, 2> stored_position(Rotation rotation, int width, int height, double x, double y) {
  const double right = width - 1, bottom = height - 1;
  switch (rotation) {
    case Rotation::none:
      return {x, y};
    case Rotation::clockwise_90:
      return {y, bottom - x};
    case Rotation::half_turn:
      return {right - x, bottom - y};
    case Rotation::clockwise_270:
      return {right - y, x};
    case Rotation::flip_horizontal:
      return {right - x, y};
    case Rotation::flip_vertical:
      return {x, bottom - y};
    case Rotation::transpose:
      return {y, x};
    case Rotation::transverse:
      return {right - y, bottom - x};
  }
  return {x, y};
}

}  // namespace saccade::vision::testing
