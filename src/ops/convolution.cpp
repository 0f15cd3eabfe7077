#include "ops/convolution.h"

#include <algorithm>

namespace saccade::ops {

Shape spatial_dims(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

void check_channels(const NodeView& context, std::size_t weights, std::int64_t group,
                    std::int64_t in_channels) {
  if (context.shape(0)[1] == in_channels) return;
  context.mismatch("has " + std::to_string(context.shape(0)[1]) + " input channels, the weights expect " +
                   std::to_string(in_channels) + " (input " + shape_string(context.shape(0)) + ", weights " +
                   shape_string(context.shape(weights)) + ", group " + std::to_string(group) + ")");
}

void check_weights(const NodeView& context) {
  if (!parameters_fit(context.dtype(1), context.dtype(0)))
    context.fail(std::string("input is ") + dtype_name(context.dtype(0)) + ", weights are " +
                 dtype_name(context.dtype(1)));
}

void check_bias(const NodeView& context, std::size_t bias, DType dtype, std::int64_t filters) {
  if (!context.has(bias)) return;
  if (context.dtype(bias) != dtype)
    context.fail(std::string("bias is ") + dtype_name(context.dtype(bias)) + ", expected " +
                 dtype_name(dtype));
  if (context.shape(bias) != Shape{filters})
    context.mismatch("bias has shape " + shape_string(context.shape(bias)) + ", expected " +
                     std::to_string(filters));
}

Window flattened(const Window& window) {
  const auto plain = [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0;
  };
  if (!std::all_of(window.begin(), window.end(), plain)) return window;
  WindowAxis row;
  for (const WindowAxis& axis : window) row.in *= axis.in;
  row.out = row.in;
  return {row};
}

Shape convolution_shape(const NodeView& context, std::size_t weights) {
  const Shape& x = context.shape(0);
  const Shape& w = context.shape(weights);
  if (x.size() < 3 || w.size() != x.size())
    context.mismatch("input " + shape_string(x) + " and weights " + shape_string(w) +
                     " must have one rank, at least 3");
  const std::int64_t group = context.node().integer("group", 1);
  if (group < 1 || group > std::max<std::int64_t>(w[0], 1) || w[0] % group != 0)
    context.fail("group " + std::to_string(group) + " does not divide " + std::to_string(w[0]) +
                 " output channels");
  if (x[1] % group != 0)
    context.mismatch("group " + std::to_string(group) + " does not divide " + std::to_string(x[1]) +
                     " input channels");
  check_channels(context, weights, group, w[1] * group);
  const Shape kernel = spatial_dims(w);
  if (const auto given = context.node().integers("kernel_shape"); !given.empty() && given != kernel)
    context.mismatch("kernel_shape is " + shape_string(given) + ", the weights have " + shape_string(kernel));
  Shape y{x[0], w[0]};
  for (const WindowAxis& axis : forward_window(context, spatial_dims(x), kernel)) y.push_back(axis.out);
  return y;
}

}  // namespace saccade::ops
