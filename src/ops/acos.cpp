// y = arccos(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kAcos =
    unary_float("Acos", [](const double* x, const double*) { return std::acos(x[0]); });

}  // namespace saccade::ops
