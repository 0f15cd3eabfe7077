// y = tanh(x).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kTanh = unary_float(
    "Tanh", [](const double* x, const double*) { return std::tanh(x[0]); }, kActivation);

}  // namespace saccade::ops
