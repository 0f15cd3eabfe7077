// y = arctan(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kAtan =
    unary_float("Atan", [](const double* x, const double*) { return std::atan(x[0]); });

}  // namespace saccade::ops
