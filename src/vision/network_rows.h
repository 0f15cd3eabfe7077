// The network's output walked in the stored picture's orientation, without letterbox bars.
#pragma once

#include <cstddef>

#include "vision/geometry.h"
#include "vision/mask.h"
#include "vision/spread.h"

namespace saccade::vision {

/// Row j, pixel i of the walk is at start(j) + i * pixel_step, its channel c at + c * channel_step (in
/// elements).
class NetworkRows {
 public:
  NetworkRows(const Geometry& geometry, const OutputLayout& layout, TensorLayout order);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  std::ptrdiff_t start(int row) const noexcept { return first_ + row * row_step_; }
  std::ptrdiff_t pixel_step() const noexcept { return pixel_step_; }
  std::ptrdiff_t channel_step() const noexcept { return channel_step_; }
  /// Places of the stored picture's columns and rows in the walk.
  Spread across() const;
  Spread down() const;

 private:
  struct Axis {
    int first, count;       // whole pixels of the output that hold content
    double origin, extent;  // where the content lies within them
  };
  static Axis axis(int content_first, int content_count, int network_count, int output_count) noexcept;

  int width_, height_, stored_width_, stored_height_;
  double origin_x_, extent_x_, origin_y_, extent_y_;
  std::ptrdiff_t first_, row_step_, pixel_step_, channel_step_;
};

/// An entry of a class map as a class number; -1 for what is none (negative, above 255, not a number).
template <class T>
int class_index(T value) noexcept {
  if constexpr (sizeof(T) == 1)
    return value;
  else
    return value >= T{0} && value < T{256} ? static_cast<int>(value) : -1;
}

}  // namespace saccade::vision
