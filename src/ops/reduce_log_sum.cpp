// Logarithm of the sum over axes.
#include "ops/reduce.h"

namespace saccade::ops {

namespace {

struct LogSumFold {
  double sum = 0;
  template <class T>
  void add(T x) {
    const double v = static_cast<double>(x);
    sum += v;
  }
  template <class T>
  T result(std::int64_t) const {
    return static_cast<T>(std::log(sum));
  }
};

}  // namespace

constinit const OpDef kReduceLogSum = reduction<LogSumFold>("ReduceLogSum");

}  // namespace saccade::ops
