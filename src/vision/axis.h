// Where each sample of a resampled row or column comes from. Rows and columns are independent, so a resize,
// with its flips and its chroma positions, is two of these a component.
#pragma once

#include <cstdint>
#include <vector>

#include "saccade/model_spec.h"

namespace saccade::vision {

/// One direction of a resize. Positions are in luma samples, whose first is at 0 and covers -0.5 to 0.5.
struct AxisSpec {
  // The targets: `count` of them, at first_target + i * target_step of the target's luma positions.
  int count = 0;
  double first_target = 0;
  double target_step = 1;
  // A target's luma position p is the source's (p + 0.5) * ratio - 0.5 + origin, counted from the end where
  // `flip`.
  double ratio = 1;
  double origin = 0;
  bool flip = false;
  // The source: `extent` luma samples; of this component `samples`, at first + k * 2^shift.
  int extent = 0;
  int samples = 0;
  double first = 0;
  int shift = 0;
};

constexpr int kWeightBits = 14;
constexpr int kWeightOne = 1 << kWeightBits;

/// Two neighbours and their weights: value = (s[index] * weight[2i] + s[index + 1] * weight[2i+1]) /
/// kWeightOne. With one sample only, both weights refer to it (`single`).
struct LinearAxis {
  std::vector<std::int32_t> index;
  std::vector<std::int16_t> weight;  ///< pairs
  std::vector<float> fraction;       ///< weight of index + 1, not quantised (for the vertical direction)
  std::vector<float> coverage;  ///< below 1 where the filter reaches beyond the picture; empty: 1 everywhere
  bool single = false;
};

/// A run of source samples and their weights, which sum to 1.
struct BoxAxis {
  std::vector<std::int32_t> begin;   ///< first sample
  std::vector<std::int32_t> offset;  ///< of the first weight; offset[i+1] - offset[i] samples
  std::vector<float> weight;
};

/// Half-pixel bilinear, or MediaPipe's positions (docs/numerics.md).
LinearAxis make_linear_axis(const AxisSpec& spec, ResizeRule rule);
/// True if the component shrinks, so that `area` means a box filter.
bool shrinks(const AxisSpec& spec) noexcept;
BoxAxis make_box_axis(const AxisSpec& spec);

}  // namespace saccade::vision
