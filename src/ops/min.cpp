// y = the smaller; NaN if either is NaN.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a || b != b) return a != a ? a : b;
    return b < a ? b : a;
  }
};

}  // namespace

constinit const OpDef kMin = arithmetic<Smaller>("Min");

}  // namespace saccade::ops
