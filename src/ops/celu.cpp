// y = max(0, x) + min(0, alpha (exp(x / alpha) - 1)).
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"alpha", AttributeKind::real}};
constexpr Parameter kParameters[] = {{"alpha", 1.0}};

double celu(const double* x, const double* p) {
  return std::fmax(x[0], 0.0) + std::fmin(0.0, p[0] * std::expm1(x[0] / p[0]));
}

}  // namespace

constinit const OpDef kCelu = unary_float("Celu", celu, 0, kAttributes, kParameters);

}  // namespace saccade::ops
