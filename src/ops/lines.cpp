#include "ops/lines.h"

namespace saccade::ops {

std::size_t softmax_axis(const NodeView& context) {
  return normalize_axis(context, context.node().integer("axis", -1), context.rank(0));
}

void infer_softmax(InferContext& context) {
  if (!is_float(context.dtype(0)))
    context.fail(std::string("needs a float tensor, got ") + dtype_name(context.dtype(0)));
  softmax_axis(context);
  context.output(0, context.dtype(0), context.shape(0));
}

}  // namespace saccade::ops
