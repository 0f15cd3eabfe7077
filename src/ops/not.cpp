// y = !x of bools.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  if (context.dtype(0) != DType::boolean)
    context.fail(std::string("needs a bool tensor, got ") + dtype_name(context.dtype(0)));
  infer_unary(context);
}

void evaluate(EvalContext& context) {
  const bool* x = context.input(0).data<bool>();
  bool* y = context.out().data<bool>();
  for (std::int64_t i = 0; i < context.out().count(); ++i) y[i] = !x[i];
}

}  // namespace

constinit const OpDef kNot{.name = "Not", .traits = kElementwiseUnary, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
