// y = x > alpha ? x : 0.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"alpha", AttributeKind::real}};
constexpr Parameter kParameters[] = {{"alpha", 1.0}};

double thresholded_relu(const double* x, const double* p) { return x[0] > p[0] ? x[0] : 0.0; }

}  // namespace

constinit const OpDef kThresholdedRelu =
    unary_float("ThresholdedRelu", thresholded_relu, 0, kAttributes, kParameters);

}  // namespace saccade::ops
