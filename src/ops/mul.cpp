// y = a * b; integers wrap around.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct MultiplyValues {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};

}  // namespace

constinit const OpDef kMul = arithmetic<MultiplyValues>("Mul");

}  // namespace saccade::ops
