// y = whether x is infinite; each sign can be switched off.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"detect_negative", AttributeKind::integer},
                                        {"detect_positive", AttributeKind::integer}};

void infer(InferContext& context) {
  infer_unary_float(context);
  context.output(0, DType::boolean, context.shape(0));
}

void evaluate(EvalContext& context) {
  const bool negative = context.node().integer("detect_negative", 1) != 0;
  const bool positive = context.node().integer("detect_positive", 1) != 0;
  visit_float(context, context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = context.input(0).data<T>();
    bool* y = context.out().template data<bool>();
    for (std::int64_t i = 0; i < context.out().count(); ++i)
      y[i] = std::isinf(x[i]) && (x[i] > 0 ? positive : negative);
  });
}

}  // namespace

constinit const OpDef kIsInf{.name = "IsInf",
                             .attributes = kAttributes,
                             .traits = kElementwiseUnary,
                             .infer = infer,
                             .evaluate = evaluate};

}  // namespace saccade::ops
