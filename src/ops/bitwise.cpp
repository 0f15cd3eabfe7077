#include "ops/bitwise.h"

namespace saccade::ops {

void infer_bitwise(InferContext& context) {
  if (is_float(context.dtype(0)) || context.dtype(0) == DType::boolean)
    context.fail(std::string("needs integers, got ") + dtype_name(context.dtype(0)));
  infer_binary(context);
}

}  // namespace saccade::ops
