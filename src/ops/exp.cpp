// y = exp(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kExp =
    unary_float("Exp", [](const double* x, const double*) { return std::exp(x[0]); });

}  // namespace saccade::ops
