// Where each sample of a resampled row or column comes from. Rows and columns are independent, so a resize,
// with its flips and its chroma positions, is two of these a component.
#pragma once

#include <cstdint>
#include <vector>

#include "saccade/model_spec.h"

namespace saccade::vision {

/// One direction of a resize: `count` targets across `extent` luma samples of the upright picture, of which
/// this component has one sample every `1 << shift`, the first at luma position `first` (0: cosited; 0.5:
/// between two).
struct AxisSpec {
  int count = 0;
  int extent = 0;       ///< luma samples across the part of the picture that is shown
  double origin = 0;    ///< luma position of the shown part's edge within the picture (0 unless cut)
  int full_extent = 0;  ///< luma samples across the whole picture
  bool flip = false;    ///< the stored picture runs the other way
  int shift = 0;
  double first = 0;
  int samples = 0;  ///< of this component across the whole picture
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
