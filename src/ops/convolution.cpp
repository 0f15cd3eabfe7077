#include "ops/convolution.h"

namespace saccade::ops {

Shape spatial_dims(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

void check_convolution(const NodeView& context, std::int64_t group, std::int64_t in_channels,
                       std::int64_t out_channels) {
  const std::string shapes =
      "input " + shape_string(context.shape(0)) + ", weights " + shape_string(context.shape(1));
  if (context.dtype(1) != context.dtype(0))
    context.fail(std::string("input is ") + dtype_name(context.dtype(0)) + ", weights are " +
                 dtype_name(context.dtype(1)));
  if (context.shape(0)[1] != in_channels)
    context.mismatch("has " + std::to_string(context.shape(0)[1]) + " input channels, the weights expect " +
                     std::to_string(in_channels) + " (" + shapes + ", group " + std::to_string(group) + ")");
  if (!context.has(2)) return;
  if (context.dtype(2) != context.dtype(0)) context.fail("bias and input differ in type");
  if (context.shape(2) != Shape{out_channels})
    context.mismatch("bias has shape " + shape_string(context.shape(2)) + ", expected " +
                     std::to_string(out_channels));
}

}  // namespace saccade::ops
