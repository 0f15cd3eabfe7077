#include "ops/arg_reduce.h"

namespace saccade::ops {

void infer_arg_reduce(InferContext& context) {
  const std::size_t axis = normalize_axis(context, context.node().integer("axis", 0), context.rank(0));
  Shape shape = context.shape(0);
  if (shape[axis] == 0)
    context.mismatch("axis " + std::to_string(axis) + " of " + shape_string(shape) + " is empty");
  if (context.node().integer("keepdims", 1) != 0)
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  context.output(0, DType::i64, shape);
}

}  // namespace saccade::ops
