// Sum of absolute values over axes.
#include "ops/reduce.h"

namespace saccade::ops {

namespace {

struct L1Fold {
  double sum = 0;
  template <class T>
  void add(T x) {
    const double v = static_cast<double>(x);
    sum += std::fabs(v);
  }
  template <class T>
  T result(std::int64_t) const {
    return static_cast<T>(sum);
  }
};

}  // namespace

constinit const OpDef kReduceL1 = reduction<L1Fold>("ReduceL1");

}  // namespace saccade::ops
