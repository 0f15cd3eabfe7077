// y = log(1 + exp(x)), without overflow for large x.
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kSoftplus = unary_float("Softplus", [](const double* x, const double*) {
  return std::fmax(x[0], 0.0) + std::log1p(std::exp(-std::fabs(x[0])));
});

}  // namespace saccade::ops
