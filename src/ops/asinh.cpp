// y = arsinh(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kAsinh =
    unary_float("Asinh", [](const double* x, const double*) { return std::asinh(x[0]); });

}  // namespace saccade::ops
