// Index of the largest element along one axis; among equals the first, or the last with select_last_index.
#include "ops/arg_reduce.h"

namespace saccade::ops {

namespace {

struct Larger {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};

}  // namespace

constinit const OpDef kArgMax = arg_reduction<Larger>("ArgMax");

}  // namespace saccade::ops
