// y = 1 / (1 + exp(-x)).
#include "ops/elementwise.h"

namespace saccade::ops {

constinit const OpDef kSigmoid = unary_float(
    "Sigmoid", [](const double* x, const double*) { return 1.0 / (1.0 + std::exp(-x[0])); }, kActivation);

}  // namespace saccade::ops
