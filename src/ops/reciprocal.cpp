// y = 1 / x.
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kReciprocal =
    unary_float("Reciprocal", [](const double* x, const double*) { return 1.0 / x[0]; });

}  // namespace saccade::ops
