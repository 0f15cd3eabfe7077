// y = 1 / sqrt(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kRsqrt =
    unary_float("Rsqrt", [](const double* x, const double*) { return 1.0 / std::sqrt(x[0]); });

}  // namespace saccade::ops
