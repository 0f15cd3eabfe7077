// y = arcosh(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kAcosh =
    unary_float("Acosh", [](const double* x, const double*) { return std::acosh(x[0]); });

}  // namespace saccade::ops
