#include "ops/reduce.h"

#include <algorithm>

namespace saccade::ops {

std::vector<std::size_t> reduce_axes(const NodeView& context) {
  const std::size_t rank = context.rank(0);
  std::vector<std::int64_t> given;
  if (context.has(1)) given = integer_list(context, 1);
  if (!given.empty() || context.node().integer("noop_with_empty_axes", 0) != 0)
    return normalize_axes(context, given, rank);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < rank; ++i) all.push_back(i);
  return all;
}

void infer_reduce(InferContext& context) {
  const std::vector<std::size_t> axes = reduce_axes(context);
  const bool keep = context.node().integer("keepdims", 1) != 0;
  Shape shape;
  for (std::size_t i = 0; i < context.rank(0); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i))
      shape.push_back(context.shape(0)[i]);
    else if (keep)
      shape.push_back(1);
  }
  context.output(0, context.dtype(0), shape);
}

}  // namespace saccade::ops
