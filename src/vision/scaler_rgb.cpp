#include "vision/scaler_rgb.h"

#include <algorithm>
#include <cmath>

#include "vision/color.h"

namespace saccade::vision {

namespace {

// Cubic interpolation with parameter 0.6, in 1/4096, of a chroma row a quarter above and a quarter below a
// sample: weights of the samples two before to one after, and one before to two after.
constexpr std::array<int, 4> kQuarterBelow = {-346, 3571, 986, -115};
constexpr int kFilterBits = 12;
static_assert(kQuarterBelow[0] + kQuarterBelow[1] + kQuarterBelow[2] + kQuarterBelow[3] == 1 << kFilterBits);

}  // namespace

bool ScalerRgb::handles(PixelFormat format) noexcept {
  return format == PixelFormat::yuv420p || format == PixelFormat::yuva420p || format == PixelFormat::nv12;
}

ScalerRgb::ScalerRgb(const PictureSpec& picture) : width_(picture.width), height_(picture.height) {
  const FormatInfo& info = format_info(picture.format);
  chroma_width_ = info.width_of(1, width_);
  chroma_height_ = info.height_of(1, height_);
  const bool limited = picture.color.range == Range::limited;
  const auto [kr, kb] = luma_weights(picture.color.matrix);
  const double kg = 1 - kr - kb;
  // Coefficients in 1/65536, of limited chroma to full; then in steps of the luma table, rounded down at
  // every value.
  const std::int64_t luma_step = limited ? (std::int64_t{255} << 16) / 219 : 1 << 16;
  const auto displacement = [&](double coefficient, int value) {
    std::int64_t c = std::llround(coefficient * 255 / 224 * 65536);
    if (!limited) c = c * 224 / 255;
    const std::int64_t step = ((c << 16) + 0x8000) / luma_step;
    return static_cast<std::int16_t>((step * value >> 16) - (step >> 9));
  };
  for (int i = 0; i < 256; ++i) {
    const auto k = static_cast<std::size_t>(i);
    red_of_v_[k] = displacement(2 * (1 - kr), i);
    blue_of_u_[k] = displacement(2 * (1 - kb), i);
    green_of_u_[k] = displacement(-2 * (1 - kb) * kb / kg, i);
    green_of_v_[k] = displacement(-2 * (1 - kr) * kr / kg, i);
  }
  // Limited black lies at 18.6 steps, but the table starts at 20.4.
  const std::int64_t start = limited ? 326 * luma_step - (std::int64_t{400} << 16) : 0;
  for (int i = kLowest; i < kHighest; ++i)
    luma_[static_cast<std::size_t>(i - kLowest)] = static_cast<std::uint8_t>(
        std::clamp((start + i * luma_step + 0x8000) >> 16, std::int64_t{0}, std::int64_t{255}));
}

std::size_t ScalerRgb::scratch_bytes() const noexcept {
  return 4 * (static_cast<std::size_t>(chroma_width_) + 64);
}

// Chroma of one luma row: between two chroma rows, as if it lay in the middle of its two luma rows.
void ScalerRgb::chroma_row(const ConstPictureView& view, int c, int luma_row,
                           std::uint8_t* out) const noexcept {
  const Component& part = format_info(view.format).component[static_cast<std::size_t>(c)];
  const bool below = luma_row % 2 != 0;
  std::array<const std::uint8_t*, 4> row{};
  std::array<int, 4> weight{};
  for (int k = 0; k < 4; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const int y = std::clamp(luma_row / 2 - 2 + k + (below ? 1 : 0), 0, chroma_height_ - 1);
    row[i] = view.planes[part.plane] + view.strides[part.plane] * y + part.offset;
    weight[i] = below ? kQuarterBelow[i] : kQuarterBelow[3 - i];
  }
  for (int x = 0; x < chroma_width_; ++x) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(x) * part.step;
    const int sum =
        row[0][at] * weight[0] + row[1][at] * weight[1] + row[2][at] * weight[2] + row[3][at] * weight[3];
    out[x] = static_cast<std::uint8_t>(std::clamp((sum + (1 << (kFilterBits - 1))) >> kFilterBits, 0, 255));
  }
}

ScalerRgb::Pixel ScalerRgb::pixel(const std::uint8_t* luma, const std::uint8_t* u, const std::uint8_t* v,
                                  int x) const noexcept {
  // Two neighbours share a chroma sample.
  const std::uint8_t cu = u[x / 2], cv = v[x / 2];
  const int at = luma[x] - kLowest;
  const auto byte = [&](int displacement) { return luma_[static_cast<std::size_t>(at + displacement)]; };
  return {byte(red_of_v_[cv]), byte(green_of_u_[cu] + green_of_v_[cv]), byte(blue_of_u_[cu])};
}

void ScalerRgb::sample(const ConstPictureView& view, const LinearAxis& x, const LinearAxis& y, int row,
                       const std::array<float*, 3>& out, std::uint8_t* scratch) const noexcept {
  const auto j = static_cast<std::size_t>(row);
  const int top = y.index[j], bottom = y.single ? top : top + 1;
  const std::size_t pitch = scratch_bytes() / 4;
  std::uint8_t* u0 = scratch;
  std::uint8_t* v0 = u0 + pitch;
  std::uint8_t* u1 = v0 + pitch;
  std::uint8_t* v1 = u1 + pitch;
  chroma_row(view, 1, top, u0);
  chroma_row(view, 2, top, v0);
  chroma_row(view, 1, bottom, u1);
  chroma_row(view, 2, bottom, v1);
  const std::uint8_t* luma0 = view.planes[0] + view.strides[0] * top;
  const std::uint8_t* luma1 = view.planes[0] + view.strides[0] * bottom;
  const int down = static_cast<int>(std::lround(y.fraction[j] * 32));
  const float row_coverage = y.coverage.empty() ? 1.0f : y.coverage[j];
  constexpr int kUnit = kWeightOne / 32;
  for (std::size_t i = 0; i < x.index.size(); ++i) {
    const int left = x.index[i], right = x.single ? left : left + 1;
    const int wl = x.weight[2 * i] / kUnit, wr = x.weight[2 * i + 1] / kUnit;
    const Pixel a = pixel(luma0, u0, v0, left), b = pixel(luma0, u0, v0, right);
    const Pixel c = pixel(luma1, u1, v1, left), d = pixel(luma1, u1, v1, right);
    const float coverage = (x.coverage.empty() ? 1.0f : x.coverage[i]) * row_coverage;
    const auto blend = [&](int p, int q, int r, int s) {
      const int sum = (p * wl + q * wr) * (32 - down) + (r * wl + s * wr) * down;
      return std::floor(static_cast<float>(sum) * (1.0f / 1024) * coverage + 0.5f);
    };
    out[0][i] = blend(a.r, b.r, c.r, d.r);
    out[1][i] = blend(a.g, b.g, c.g, d.g);
    out[2][i] = blend(a.b, b.b, c.b, d.b);
  }
}

}  // namespace saccade::vision
