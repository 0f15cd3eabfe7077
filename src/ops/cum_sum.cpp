// Running sums along one axis.
#include "ops/cumulative.h"

namespace saccade::ops {

namespace {

struct Sums {
  template <class T>
  static T identity() {
    return T{0};
  }
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

}  // namespace

constinit const OpDef kCumSum = cumulative<Sums>("CumSum");

}  // namespace saccade::ops
