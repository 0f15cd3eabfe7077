// y = a <= b, as bool.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct IsLessOrEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};

}  // namespace

constinit const OpDef kLessOrEqual = comparison<IsLessOrEqual>("LessOrEqual");

}  // namespace saccade::ops
