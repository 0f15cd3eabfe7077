// Enlarging a short row of 15-bit values to the width of a picture: the table of one direction.
#pragma once

#include <cstdint>
#include <vector>

#include "vision/kernels/spread_table.h"

namespace saccade::vision {

/// Values after a row's end that kernels may read: one neighbour of the last, and the rest of a vector.
constexpr int kSpreadMargin = 33;

/// Half-pixel bilinear positions: target i lies at origin + (i + 0.5) * ratio - 0.5, clamped to 0 ..
/// source_count - 1.
class Spread {
 public:
  Spread() = default;
  Spread(int target_count, int source_count, double ratio, double origin = 0);

  SpreadTable table() const noexcept;
  int index(int i) const noexcept { return index_[static_cast<std::size_t>(i)]; }
  /// Weight of the right neighbour in 1 / 2^15.
  std::int16_t weight(int i) const noexcept { return weight_[static_cast<std::size_t>(i)]; }
  float fraction(int i) const noexcept { return fraction_[static_cast<std::size_t>(i)]; }
  const float* fractions() const noexcept { return fraction_.data(); }

 private:
  int count_ = 0;
  std::vector<std::int32_t> index_;
  std::vector<std::int16_t> weight_;
  std::vector<float> fraction_;
  std::vector<std::int32_t> base_;
  std::vector<std::uint8_t> shuffle_;
  std::vector<std::uint16_t> place_;
  bool windowed_ = false, near_ = false;
};

}  // namespace saccade::vision
