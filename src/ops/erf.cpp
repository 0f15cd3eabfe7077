// The error function.
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kErf =
    unary_float("Erf", [](const double* x, const double*) { return std::erf(x[0]); });

}  // namespace saccade::ops
