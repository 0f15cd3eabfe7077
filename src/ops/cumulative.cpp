#include "ops/cumulative.h"

namespace saccade::ops {

void infer_cumulative(InferContext& context) {
  if (context.dtype(1) != DType::i32 && context.dtype(1) != DType::i64)
    context.fail(std::string("axis must be int32 or int64, is ") + dtype_name(context.dtype(1)));
  if (context.constant(1) != nullptr) normalize_axis(context, scalar_integer(context, 1), context.rank(0));
  context.output(0, context.dtype(0), context.shape(0));
}

}  // namespace saccade::ops
