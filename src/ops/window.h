// Sliding windows: how kernel, stride, dilation and padding of convolutions and pools map outputs to inputs.
#pragma once

#include <vector>

#include "ops/op_def.h"

namespace saccade::ops {

/// One spatial axis. Output o and tap k meet at input position o * stride - pad_begin + k * dilation.
struct WindowAxis {
  std::int64_t in = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;  ///< negative: crops
  std::int64_t pad_end = 0;    ///< as declared, without the cells that ceil_mode adds
  std::int64_t out = 1;

  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
};

using Window = std::vector<WindowAxis>;

/// Reads strides, dilations, pads, auto_pad and ceil_mode; `kernel` and `spatial` have one entry an axis.
/// Throws Error(invalid_model | shape_mismatch) for what does not fit.
Window forward_window(const NodeView& context, const Shape& spatial, const Shape& kernel);
/// For ConvTranspose, where `in` is the (larger) output: reads output_padding and output_shape too.
/// `WindowAxis::in` is the size of the operator's output, `WindowAxis::out` that of its input.
Window transposed_window(const NodeView& context, const Shape& spatial, const Shape& kernel);

/// Pairs of (tap, input row) that an output row touches, where rows run along the last axis and taps and rows
/// are numbered over all axes before it. `outer` is the output row's number.
struct RowPair {
  std::int64_t tap;
  std::int64_t row;
};
std::vector<RowPair> row_pairs(const Window& window, std::int64_t outer);

/// Outputs [first, last) along an axis whose tap `k` falls inside the input.
struct Span {
  std::int64_t first;
  std::int64_t last;
};
Span inside(const WindowAxis& axis, std::int64_t k);

}  // namespace saccade::ops
