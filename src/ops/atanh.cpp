// y = artanh(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kAtanh =
    unary_float("Atanh", [](const double* x, const double*) { return std::atanh(x[0]); });

}  // namespace saccade::ops
