// Square root of the sum of squares over axes.
#include "ops/reduce.h"

namespace saccade::ops {

namespace {

struct L2Fold {
  double sum = 0;
  template <class T>
  void add(T x) {
    const double v = static_cast<double>(x);
    sum += v * v;
  }
  template <class T>
  T result(std::int64_t) const {
    return static_cast<T>(std::sqrt(sum));
  }
};

}  // namespace

constinit const OpDef kReduceL2 = reduction<L2Fold>("ReduceL2");

}  // namespace saccade::ops
