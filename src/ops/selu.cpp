// y = gamma (x > 0 ? x : alpha (exp(x) - 1)).
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"alpha", AttributeKind::real}, {"gamma", AttributeKind::real}};
constexpr Parameter kParameters[] = {{"alpha", 1.67326319217681884765625},
                                     {"gamma", 1.05070102214813232421875}};

double selu(const double* x, const double* p) { return p[1] * (x[0] > 0 ? x[0] : p[0] * std::expm1(x[0])); }

}  // namespace

constinit const OpDef kSelu = unary_float("Selu", selu, 0, kAttributes, kParameters);

}  // namespace saccade::ops
