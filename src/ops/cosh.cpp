// y = cosh(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kCosh =
    unary_float("Cosh", [](const double* x, const double*) { return std::cosh(x[0]); });

}  // namespace saccade::ops
