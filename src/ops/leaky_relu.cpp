// y = x < 0 ? alpha x : x.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"alpha", AttributeKind::real}};
constexpr Parameter kParameters[] = {{"alpha", 0.01}};

double leaky_relu(const double* x, const double* p) { return x[0] < 0 ? p[0] * x[0] : x[0]; }

}  // namespace

constinit const OpDef kLeakyRelu =
    unary_float("LeakyRelu", leaky_relu, kActivation, kAttributes, kParameters);

}  // namespace saccade::ops
