// Running products along one axis.
#include "ops/cumulative.h"

namespace saccade::ops {

namespace {

struct Products {
  template <class T>
  static T identity() {
    return T{1};
  }
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};

}  // namespace

constinit const OpDef kCumProd = cumulative<Products>("CumProd");

}  // namespace saccade::ops
