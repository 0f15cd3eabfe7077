// y = ~x of integers.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  if (is_float(context.dtype(0)) || context.dtype(0) == DType::boolean)
    context.fail(std::string("needs integers, got ") + dtype_name(context.dtype(0)));
  infer_unary(context);
}

void evaluate(EvalContext& context) {
  visit_integer(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    T* y = context.out().template data<T>();
    for (std::int64_t i = 0; i < context.out().count(); ++i) y[i] = static_cast<T>(~x[i]);
  });
}

}  // namespace

constinit const OpDef kBitwiseNot{
    .name = "BitwiseNot", .traits = kElementwiseUnary, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
