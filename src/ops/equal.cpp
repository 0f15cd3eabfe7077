// y = a == b, as bool.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct AreEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};

}  // namespace

constinit const OpDef kEqual = comparison<AreEqual>("Equal");

}  // namespace saccade::ops
