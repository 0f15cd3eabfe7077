// y = sinh(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kSinh =
    unary_float("Sinh", [](const double* x, const double*) { return std::sinh(x[0]); });

}  // namespace saccade::ops
