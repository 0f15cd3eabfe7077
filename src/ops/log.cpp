// y = ln(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kLog =
    unary_float("Log", [](const double* x, const double*) { return std::log(x[0]); });

}  // namespace saccade::ops
