// y = cos(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kCos =
    unary_float("Cos", [](const double* x, const double*) { return std::cos(x[0]); });

}  // namespace saccade::ops
