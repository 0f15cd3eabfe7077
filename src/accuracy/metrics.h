// How well two masks agree. Masks are grey, a byte a pixel, 255 being foreground; where one bit has to do,
// foreground is above 127.
#pragma once

#include <cstdint>
#include <span>

namespace saccade::accuracy {

/// Rows without gaps.
struct MaskView {
  const std::uint8_t* data = nullptr;
  int width = 0, height = 0;

  std::int64_t count() const noexcept { return std::int64_t{width} * height; }
  bool foreground(std::int64_t i) const noexcept { return data[i] > 127; }
};

/// Pixels by what both masks say of them. Those whose `valid` is 0 do not count; empty: all count.
struct Confusion {
  std::int64_t both = 0, only_first = 0, only_second = 0, neither = 0;

  void add(MaskView first, MaskView second, std::span<const std::uint8_t> valid = {});
  void add(const Confusion& other) noexcept;
  std::int64_t all() const noexcept { return both + only_first + only_second + neither; }
  /// Intersection over union of the foreground; 1 where neither has any.
  double iou() const noexcept;
  /// Twice the intersection over the sum of both; 1 where neither has any.
  double dice() const noexcept;
  /// Mean of the IoU of foreground and background.
  double mean_iou() const noexcept;
  /// Share of pixels that differ.
  double changed() const noexcept;
};

/// Radius within which outlines count as the same: 0.8 % of the diagonal, at least one pixel.
int boundary_tolerance(int width, int height) noexcept;

/// Outline pixels of each mask, and those that have one of the other within `tolerance` (Euclidean). An
/// outline pixel is a foreground pixel beside, above or below which there is background; the picture's edge
/// is none.
struct Boundary {
  std::int64_t first = 0, first_near = 0, second = 0, second_near = 0;

  void add(MaskView a, MaskView b, int tolerance);
  /// Harmonic mean of the shares; 1 where neither has an outline, 0 where one alone has.
  double f() const noexcept;
};

/// Differences of soft masks, from 0 to 1 a pixel.
struct MatteError {
  double sum = 0;  ///< of absolute differences
  double square_sum = 0;
  std::int64_t count = 0;

  void add(MaskView first, MaskView second, std::span<const std::uint8_t> valid = {});
  double mean() const noexcept { return count == 0 ? 0 : sum / static_cast<double>(count); }
  /// In thousands, as papers on matting give it.
  double sad() const noexcept { return sum / 1000; }
  double mean_square() const noexcept { return count == 0 ? 0 : square_sum / static_cast<double>(count); }
};

}  // namespace saccade::accuracy
