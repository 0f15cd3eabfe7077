// y = tan(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kTan =
    unary_float("Tan", [](const double* x, const double*) { return std::tan(x[0]); });

}  // namespace saccade::ops
