// Mean over axes; integers truncate towards zero. The mean of nothing is NaN (0 for integers).
#include "ops/reduce.h"

namespace saccade::ops {

namespace {

struct MeanFold {
  double sum = 0;
  template <class T>
  void add(T x) {
    sum += static_cast<double>(x);
  }
  template <class T>
  T result(std::int64_t count) const {
    if (std::is_integral_v<T> && count == 0) return 0;
    return static_cast<T>(sum / static_cast<double>(count));
  }
};

}  // namespace

constinit const OpDef kReduceMean = reduction<MeanFold>("ReduceMean");

}  // namespace saccade::ops
