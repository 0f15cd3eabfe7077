// y = -x; integers wrap around.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct NegInteger {
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
  }
};

}  // namespace

constinit const OpDef kNeg =
    unary_number<NegInteger>("Neg", [](const double* x, const double*) { return -x[0]; });

}  // namespace saccade::ops
