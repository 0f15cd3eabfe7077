// y = x * tanh(softplus(x)).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kMish = unary_float("Mish", [](const double* x, const double*) {
  return x[0] * std::tanh(std::fmax(x[0], 0.0) + std::log1p(std::exp(-std::fabs(x[0]))));
});

}  // namespace saccade::ops
