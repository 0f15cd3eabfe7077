// y = a < b, as bool.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct IsLess {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};

}  // namespace

constinit const OpDef kLess = comparison<IsLess>("Less");

}  // namespace saccade::ops
