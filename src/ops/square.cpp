// y = x * x; integers wrap around.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct SquareInteger {
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
  }
};

}  // namespace

constinit const OpDef kSquare =
    unary_number<SquareInteger>("Square", [](const double* x, const double*) { return x[0] * x[0]; });

}  // namespace saccade::ops
