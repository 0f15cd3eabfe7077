// y = x < 0 ? alpha (exp(x) - 1) : x.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"alpha", AttributeKind::real}};
constexpr Parameter kParameters[] = {{"alpha", 1.0}};

double elu(const double* x, const double* p) { return x[0] < 0 ? p[0] * std::expm1(x[0]) : x[0]; }

}  // namespace

constinit const OpDef kElu = unary_float("Elu", elu, 0, kAttributes, kParameters);

}  // namespace saccade::ops
