// Index of the smallest element along one axis; among equals the first, or the last with select_last_index.
#include "ops/arg_reduce.h"

namespace saccade::ops {

namespace {

struct Smaller {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};

}  // namespace

constinit const OpDef kArgMin = arg_reduction<Smaller>("ArgMin");

}  // namespace saccade::ops
