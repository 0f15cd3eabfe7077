// y = a > b, as bool.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct IsGreater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};

}  // namespace

constinit const OpDef kGreater = comparison<IsGreater>("Greater");

}  // namespace saccade::ops
