// y = sqrt(x); NaN below 0.
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kSqrt =
    unary_float("Sqrt", [](const double* x, const double*) { return std::sqrt(x[0]); });

}  // namespace saccade::ops
