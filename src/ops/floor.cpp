// y = the largest integer <= x.
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kFloor =
    unary_float("Floor", [](const double* x, const double*) { return std::floor(x[0]); });

}  // namespace saccade::ops
