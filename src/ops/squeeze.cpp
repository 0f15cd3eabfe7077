// Removes the given dimensions of size 1, or all of them.
#include <algorithm>

#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  const Shape& shape = context.shape(0);
  std::vector<std::size_t> axes;
  if (context.has(1)) {
    axes = normalize_axes(context, integer_list(context, 1), shape.size());
    for (const std::size_t axis : axes)
      if (shape[axis] != 1)
        context.mismatch("axis " + std::to_string(axis) + " has size " + std::to_string(shape[axis]) +
                         ", not 1");
  } else {
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] == 1) axes.push_back(i);
  }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), i)) result.push_back(shape[i]);
  context.output(0, context.dtype(0), result);
}

void evaluate(EvalContext& context) {
  context.set(0, context.input(0).reshaped(context.output_type(0).shape));
}

}  // namespace

constinit const OpDef kSqueeze{.name = "Squeeze",
                               .min_inputs = 1,
                               .max_inputs = 2,
                               .traits = kView | kNativeHalf,
                               .infer = infer,
                               .evaluate = evaluate};

}  // namespace saccade::ops
