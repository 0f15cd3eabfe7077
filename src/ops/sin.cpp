// y = sin(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kSin =
    unary_float("Sin", [](const double* x, const double*) { return std::sin(x[0]); });

}  // namespace saccade::ops
