// y = arcsin(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kAsin =
    unary_float("Asin", [](const double* x, const double*) { return std::asin(x[0]); });

}  // namespace saccade::ops
