// y = the larger; NaN if either is NaN.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a || b != b) return a != a ? a : b;
    return a < b ? b : a;
  }
};

}  // namespace

constinit const OpDef kMax = arithmetic<Larger>("Max");

}  // namespace saccade::ops
