// y = x * Phi(x), exactly or by its usual tanh approximation.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"approximate", AttributeKind::text}};
constexpr Parameter kParameters[] = {{"approximate", 0, "tanh"}};

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;

double gelu(const double* x, const double* p) {
  const double v = x[0];
  if (p[0] != 0) return 0.5 * v * (1.0 + std::tanh(kSqrtTwoOverPi * (v + 0.044715 * v * v * v)));
  return 0.5 * v * (1.0 + std::erf(v * kSqrtHalf));
}

void infer(InferContext& context) {
  const std::string approximate = context.node().text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    context.fail("approximate is '" + approximate + "', expected none or tanh");
  infer_unary_float(context);
}

}  // namespace

constinit const OpDef kGelu{.name = "Gelu",
                            .attributes = kAttributes,
                            .traits = kElementwiseUnary,
                            .infer = infer,
                            .evaluate = evaluate_unary_float,
                            .scalar = {gelu, kParameters}};

}  // namespace saccade::ops
