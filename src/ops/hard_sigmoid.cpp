// y = clip(alpha x + beta, 0, 1). The default of alpha is 0.2, not the 1/6 of HardSwish.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"alpha", AttributeKind::real}, {"beta", AttributeKind::real}};
constexpr Parameter kParameters[] = {{"alpha", 0.2}, {"beta", 0.5}};

double hard_sigmoid(const double* x, const double* p) {
  return std::fmin(std::fmax(p[0] * x[0] + p[1], 0.0), 1.0);
}

}  // namespace

constinit const OpDef kHardSigmoid =
    unary_float("HardSigmoid", hard_sigmoid, kActivation, kAttributes, kParameters);

}  // namespace saccade::ops
