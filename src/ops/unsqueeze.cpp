// Inserts dimensions of size 1 at the given axes of the output.
#include <algorithm>

#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  const std::vector<std::int64_t> given = integer_list(context, 1);
  const std::size_t rank = context.rank(0) + given.size();
  const std::vector<std::size_t> axes = normalize_axes(context, given, rank);
  Shape result;
  for (std::size_t i = 0, from = 0; i < rank; ++i)
    result.push_back(std::binary_search(axes.begin(), axes.end(), i) ? 1 : context.shape(0)[from++]);
  context.output(0, context.dtype(0), result);
}

void evaluate(EvalContext& context) {
  context.set(0, context.input(0).reshaped(context.output_type(0).shape));
}

}  // namespace

constinit const OpDef kUnsqueeze{.name = "Unsqueeze",
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .traits = kView | kNativeHalf,
                                 .infer = infer,
                                 .evaluate = evaluate};

}  // namespace saccade::ops
