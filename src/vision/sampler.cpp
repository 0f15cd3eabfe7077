#include "vision/sampler.h"

#include <algorithm>
#include <cmath>

namespace saccade::vision {

double first_chroma_position(const FormatInfo& info, ChromaLocation location, bool vertical) noexcept {
  if ((vertical ? info.shift_y : info.shift_x) == 0) return 0;
  switch (location) {
    case ChromaLocation::left:
      return vertical ? 0.5 : 0.0;
    case ChromaLocation::center:
      return 0.5;
    case ChromaLocation::top_left:
      return 0.0;
    case ChromaLocation::top:
      return vertical ? 0.0 : 0.5;
    case ChromaLocation::bottom_left:
      return vertical ? 1.0 : 0.0;
    case ChromaLocation::bottom:
      return vertical ? 1.0 : 0.5;
  }
  return 0.5;
}

Sampler::Sampler(const PictureSpec& picture, const TargetAxis& across, const TargetAxis& down,
                 ResizeRule rule, const PreprocessKernels& kernels)
    : info_(&format_info(picture.format)), kernels_(&kernels) {
  const bool swapped = swaps_axes(picture.rotation);
  const auto spec = [&](bool chroma, bool vertical) {
    const TargetAxis& target = vertical != swapped ? down : across;
    AxisSpec s;
    s.count = target.count;
    s.first_target = target.first;
    s.target_step = target.step;
    s.ratio = target.ratio;
    s.origin = target.origin;
    s.flip = vertical ? reverses_rows(picture.rotation) : reverses_columns(picture.rotation);
    s.extent = s.samples = vertical ? picture.height : picture.width;
    if (chroma) {
      s.shift = vertical ? info_->shift_y : info_->shift_x;
      s.samples = vertical ? info_->height_of(1, picture.height) : info_->width_of(1, picture.width);
      s.first = first_chroma_position(*info_, picture.color.chroma, vertical);
    }
    return s;
  };
  width_ = spec(false, false).count;
  height_ = spec(false, true).count;
  luma_ = make_axes(spec(false, false), spec(false, true), rule);
  bytes_ = rule == ResizeRule::bilinear && info_->model == ColorModel::rgb && info_->bytes() == 1;
  const bool chroma = info_->model == ColorModel::yuv;
  chroma_ = make_axes(spec(chroma, false), spec(chroma, true), rule);
}

Sampler::Axes Sampler::make_axes(const AxisSpec& x, const AxisSpec& y, ResizeRule rule) {
  Axes axes;
  axes.samples_x = x.samples;
  axes.is_box_x = rule == ResizeRule::area && shrinks(x);
  axes.is_box_y = rule == ResizeRule::area && shrinks(y);
  if (axes.is_box_x)
    axes.box_x = make_box_axis(x);
  else
    axes.x = make_linear_axis(x, rule);
  if (axes.is_box_y)
    axes.box_y = make_box_axis(y);
  else
    axes.y = make_linear_axis(y, rule);
  return axes;
}

std::size_t Sampler::source_row_floats() const noexcept {
  return (static_cast<std::size_t>(std::max(luma_.samples_x, chroma_.samples_x)) + 15) / 16 * 16;
}

void Sampler::sample(const ConstPictureView& view, int c, int row, float* out,
                     float* source_row) const noexcept {
  if (bytes_) return sample_bytes(view, c, row, out);
  const Component& part = info_->component[static_cast<std::size_t>(c)];
  const Axes& axes = axes_of(c);
  const std::ptrdiff_t stride = view.strides[part.plane];
  const std::uint8_t* plane = view.planes[part.plane] + part.offset * info_->bytes();
  const auto j = static_cast<std::size_t>(row);

  if (!axes.is_box_x && !axes.is_box_y && !axes.x.single) {
    const std::uint8_t* row0 = plane + stride * axes.y.index[j];
    const SampleRow a{row0,
                      axes.y.single ? row0 : row0 + stride,
                      axes.y.fraction[j],
                      axes.x.index.data(),
                      axes.x.weight.data(),
                      width_,
                      part.step,
                      out};
    if (info_->bytes() == 2)
      kernels_->sample_u16(a);
    else if (part.step == 1)
      kernels_->sample_u8(a);
    else
      kernels_->sample_step_u8(a);
    return;
  }

  // First down the columns into a row of floats, then along it.
  const auto accumulate = info_->bytes() == 2 ? kernels_->accumulate_u16 : kernels_->accumulate_u8;
  std::fill_n(source_row, axes.samples_x, 0.0f);
  if (axes.is_box_y) {
    const std::uint8_t* source = plane + stride * axes.box_y.begin[j];
    for (std::int32_t k = axes.box_y.offset[j]; k < axes.box_y.offset[j + 1]; ++k, source += stride)
      accumulate(source, part.step, axes.box_y.weight[static_cast<std::size_t>(k)], source_row,
                 axes.samples_x);
  } else {
    const std::uint8_t* source = plane + stride * axes.y.index[j];
    accumulate(source, part.step, 1 - axes.y.fraction[j], source_row, axes.samples_x);
    if (!axes.y.single)
      accumulate(source + stride, part.step, axes.y.fraction[j], source_row, axes.samples_x);
  }
  for (int i = 0; i < width_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (axes.is_box_x) {
      const float* p = source_row + axes.box_x.begin[k];
      float sum = 0;
      for (std::int32_t w = axes.box_x.offset[k]; w < axes.box_x.offset[k + 1]; ++w)
        sum += *p++ * axes.box_x.weight[static_cast<std::size_t>(w)];
      out[i] = sum;
    } else {
      const float* p = source_row + axes.x.index[k];
      out[i] = axes.x.single ? p[0] : p[0] + (p[1] - p[0]) * axes.x.fraction[k];
    }
  }
}

// Networks for pictures were mostly trained and measured on what OpenCV's INTER_LINEAR makes of RGB bytes,
// and some of them are so sensitive that its rounding shows in the mask: weights in 1/2^11, four bits dropped
// between the directions, the result a byte.
void Sampler::sample_bytes(const ConstPictureView& view, int c, int row, float* out) const noexcept {
  constexpr float kOne = 1 << 11;
  const auto weight = [](float fraction) { return static_cast<int>(std::lrint(fraction * kOne)); };
  const Component& part = info_->component[static_cast<std::size_t>(c)];
  const LinearAxis &x = luma_.x, &y = luma_.y;
  const auto j = static_cast<std::size_t>(row);
  const std::uint8_t* top = view.planes[part.plane] + part.offset + view.strides[part.plane] * y.index[j];
  const std::uint8_t* bottom = y.single ? top : top + view.strides[part.plane];
  const int w_top = weight(1 - y.fraction[j]), w_bottom = weight(y.fraction[j]);
  const std::ptrdiff_t next = x.single ? 0 : part.step;
  for (std::size_t i = 0; i < x.index.size(); ++i) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(x.index[i]) * part.step;
    const int w_left = weight(1 - x.fraction[i]), w_right = weight(x.fraction[i]);
    const int above = (top[at] * w_left + top[at + next] * w_right) >> 4;
    const int below = (bottom[at] * w_left + bottom[at + next] * w_right) >> 4;
    out[i] = static_cast<float>(((above * w_top >> 16) + (below * w_bottom >> 16) + 2) >> 2);
  }
}

void Sampler::prefetch(const ConstPictureView& view, int row) const noexcept {
  for (int c = 0; c < info_->colors; ++c) {
    const Axes& axes = axes_of(c);
    if (axes.is_box_y || row >= static_cast<int>(axes.y.index.size())) continue;
    const Component& part = info_->component[static_cast<std::size_t>(c)];
    const std::ptrdiff_t stride = view.strides[part.plane];
    const std::uint8_t* p = view.planes[part.plane] + stride * axes.y.index[static_cast<std::size_t>(row)];
    const std::ptrdiff_t bytes = static_cast<std::ptrdiff_t>(axes.samples_x) * part.step * info_->bytes();
    for (int k = 0; k < (axes.y.single ? 1 : 2); ++k, p += stride)
      for (std::ptrdiff_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
  }
}

}  // namespace saccade::vision
