// y = whether x is not a number.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  infer_unary_float(context);
  context.output(0, DType::boolean, context.shape(0));
}

void evaluate(EvalContext& context) {
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    bool* y = context.out().template data<bool>();
    for (std::int64_t i = 0; i < context.out().count(); ++i) y[i] = std::isnan(x[i]);
  });
}

}  // namespace

constinit const OpDef kIsNaN{
    .name = "IsNaN", .traits = kElementwiseUnary, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
