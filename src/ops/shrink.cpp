// y = x < -lambd ? x + bias : x > lambd ? x - bias : 0.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"bias", AttributeKind::real}, {"lambd", AttributeKind::real}};
constexpr Parameter kParameters[] = {{"bias", 0.0}, {"lambd", 0.5}};

double shrink(const double* x, const double* p) {
  return x[0] < -p[1] ? x[0] + p[0] : (x[0] > p[1] ? x[0] - p[0] : 0.0);
}

}  // namespace

constinit const OpDef kShrink = unary_float("Shrink", shrink, 0, kAttributes, kParameters);

}  // namespace saccade::ops
