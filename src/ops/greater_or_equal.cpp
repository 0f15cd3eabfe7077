// y = a >= b, as bool.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct IsGreaterOrEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};

}  // namespace

constinit const OpDef kGreaterOrEqual = comparison<IsGreaterOrEqual>("GreaterOrEqual");

}  // namespace saccade::ops
