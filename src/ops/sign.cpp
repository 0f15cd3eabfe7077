// y = -1, 0 or 1; NaN stays NaN.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct SignInteger {
  template <class T>
  T operator()(T x) const {
    return static_cast<T>((x > T{0}) - (x < T{0}));
  }
};

}  // namespace

constinit const OpDef kSign = unary_number<SignInteger>("Sign", [](const double* x, const double*) {
  return std::isnan(x[0]) ? x[0] : static_cast<double>((x[0] > 0) - (x[0] < 0));
});

}  // namespace saccade::ops
