// y = x * sigmoid(x), also called swish.
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kSilu = unary_float(
    "Silu", [](const double* x, const double*) { return x[0] / (1.0 + std::exp(-x[0])); }, kActivation);

}  // namespace saccade::ops
