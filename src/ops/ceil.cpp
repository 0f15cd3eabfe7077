// y = the smallest integer >= x.
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kCeil =
    unary_float("Ceil", [](const double* x, const double*) { return std::ceil(x[0]); });

}  // namespace saccade::ops
