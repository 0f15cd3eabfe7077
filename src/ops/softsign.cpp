// y = x / (1 + |x|).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kSoftsign =
    unary_float("Softsign", [](const double* x, const double*) { return x[0] / (1.0 + std::fabs(x[0])); });

}  // namespace saccade::ops
