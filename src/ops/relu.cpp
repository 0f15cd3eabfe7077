// y = max(x, 0).
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct ReluInteger {
  template <class T>
  T operator()(T x) const {
    return x > 0 ? x : T{0};
  }
};

}  // namespace

constinit const OpDef kRelu = unary_number<ReluInteger>(
    "Relu", [](const double* x, const double*) { return x[0] > 0 || std::isnan(x[0]) ? x[0] : 0.0; },
    kActivation);

}  // namespace saccade::ops
