#include "ops/pool.h"

#include "ops/convolution.h"

namespace saccade::ops {

Window pool_window(const NodeView& context) {
  if (context.rank(0) < 3)
    context.mismatch("input " + shape_string(context.shape(0)) + " has no spatial dimension");
  const std::vector<std::int64_t> kernel = context.node().integers("kernel_shape");
  if (kernel.empty()) context.fail("kernel_shape is missing");
  return forward_window(context, spatial_dims(context.shape(0)), kernel);
}

void infer_pool(InferContext& context) {
  const Window window = pool_window(context);
  Shape shape{context.shape(0)[0], context.shape(0)[1]};
  for (const WindowAxis& axis : window) shape.push_back(axis.out);
  context.output(0, context.dtype(0), shape);
  context.output(1, DType::i64, shape);
}

std::vector<AxisTaps> axis_taps(const WindowAxis& axis) {
  std::vector<AxisTaps> all(static_cast<std::size_t>(axis.out));
  for (std::int64_t o = 0; o < axis.out; ++o) {
    AxisTaps& taps = all[static_cast<std::size_t>(o)];
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t at = o * axis.stride - axis.pad_begin + k * axis.dilation;
      if (at >= 0 && at < axis.in) taps.positions.push_back(at);
      if (at < axis.in + axis.pad_end) ++taps.covered;
    }
  }
  return all;
}

}  // namespace saccade::ops
