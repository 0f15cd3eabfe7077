// y = the nearest integer, ties to even.
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kRound =
    unary_float("Round", [](const double* x, const double*) { return std::nearbyint(x[0]); });

}  // namespace saccade::ops
