#include "vision/network_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace saccade::vision {

NetworkRows::Axis NetworkRows::axis(int content_first, int content_count, int network_count,
                                    int output_count) noexcept {
  const double scale = static_cast<double>(output_count) / network_count;
  const double begin = content_first * scale, end = (content_first + content_count) * scale;
  const int first = std::clamp(static_cast<int>(std::floor(begin + 1e-9)), 0, output_count - 1);
  const int last = std::clamp(static_cast<int>(std::ceil(end - 1e-9)), first + 1, output_count);
  return {first, last - first, begin - first, end - begin};
}

NetworkRows::NetworkRows(const Geometry& g, const OutputLayout& layout, TensorLayout order)
    : stored_width_(g.stored_width), stored_height_(g.stored_height) {
  Axis x = axis(g.content.x, g.content.width, g.network_width, layout.width);
  Axis y = axis(g.content.y, g.content.height, g.network_height, layout.height);
  const bool interleaved = order == TensorLayout::nhwc;
  const std::ptrdiff_t pixel = interleaved ? layout.channels : 1;
  channel_step_ = interleaved ? 1 : static_cast<std::ptrdiff_t>(layout.width) * layout.height;
  // Steps of the output that go along the stored picture's columns and rows.
  std::ptrdiff_t step_x = pixel, step_y = pixel * layout.width;
  first_ = x.first * step_x + y.first * step_y;
  if (swaps_axes(g.rotation)) {
    std::swap(x, y);
    std::swap(step_x, step_y);
  }
  if (reverses_columns(g.rotation)) {
    first_ += (x.count - 1) * step_x;
    step_x = -step_x;
    x.origin = x.count - (x.origin + x.extent);
  }
  if (reverses_rows(g.rotation)) {
    first_ += (y.count - 1) * step_y;
    step_y = -step_y;
    y.origin = y.count - (y.origin + y.extent);
  }
  width_ = x.count;
  height_ = y.count;
  origin_x_ = x.origin;
  extent_x_ = x.extent;
  origin_y_ = y.origin;
  extent_y_ = y.extent;
  pixel_step_ = step_x;
  row_step_ = step_y;
}

Spread NetworkRows::across() const { return {stored_width_, width_, extent_x_ / stored_width_, origin_x_}; }
Spread NetworkRows::down() const { return {stored_height_, height_, extent_y_ / stored_height_, origin_y_}; }

}  // namespace saccade::vision
