// y = x * clip(x / 6 + 1/2, 0, 1).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kHardSwish = unary_float(
    "HardSwish",
    [](const double* x, const double*) { return x[0] * std::fmin(std::fmax(x[0] / 6.0 + 0.5, 0.0), 1.0); },
    kActivation);

}  // namespace saccade::ops
