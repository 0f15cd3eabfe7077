// Where each output of a Resize reads its input: coordinates, filters and rounding, one axis at a time. Used
// by the reference kernel and by the fast kernels, so that they cannot disagree.
#pragma once

#include <vector>

#include "ops/op_def.h"

namespace saccade::ops {

inline constexpr AttributeDef kResizeAttributes[] = {{"mode", AttributeKind::text},
                                                     {"coordinate_transformation", AttributeKind::text},
                                                     {"nearest_mode", AttributeKind::text},
                                                     {"cubic_coeff_a", AttributeKind::real},
                                                     {"exclude_outside", AttributeKind::integer},
                                                     {"extrapolation_value", AttributeKind::real},
                                                     {"antialias", AttributeKind::integer},
                                                     {"axes", AttributeKind::integers},
                                                     {"corners", AttributeKind::integer},
                                                     {"keep_aspect_ratio_policy", AttributeKind::text}};

/// One axis: output o is the sum of weight * input[index] over its taps [o * per_output, (o + 1) *
/// per_output).
struct ResizeAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  bool identity = true;         ///< the axis stays as it is; no taps are stored
  std::int64_t per_output = 1;  ///< taps an output; unused ones have weight 0
  std::vector<std::int64_t> index;
  std::vector<double> weight;
  std::vector<bool> outside;  ///< per output: takes extrapolation_value (tf_crop_and_resize); empty: none
};

/// Two neighbours an output and their weights in single precision, for the attribute `corners`: a bilinear
/// result is then
/// ((w11 * x11 + w12 * x12) + w21 * x21) + w22 * x22 with every product and sum rounded, the first digit the
/// row and w the product of both weights. At the far edge both neighbours are the last element, with 1/2
/// each.
struct CornerTaps {
  std::vector<std::int64_t> index;
  std::vector<float> weight;
};
CornerTaps corner_taps(const ResizeAxis& axis);
/// Whether the node asks for that order and it means something: f32, linear along the last two of four axes.
bool in_corner_order(const NodeView& context, const std::vector<ResizeAxis>& axes);

/// The output's shape alone; needs the data of scales or sizes.
Shape resize_shape(const NodeView& context);
/// All axes with their taps.
std::vector<ResizeAxis> resize_plan(const NodeView& context);

}  // namespace saccade::ops
