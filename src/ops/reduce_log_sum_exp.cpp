// Logarithm of the sum of exponentials over axes, without overflow.
#include "ops/reduce.h"

namespace saccade::ops {

namespace {

struct LogSumExpFold {
  double largest = -HUGE_VAL;
  double sum = 0;  ///< of exp(x - largest)
  template <class T>
  void add(T x) {
    const auto v = static_cast<double>(x);
    if (v == -HUGE_VAL) return;
    if (v > largest) {
      sum = sum * std::exp(largest - v) + 1;
      largest = v;
    } else {
      sum += v == largest ? 1 : std::exp(v - largest);
    }
  }
  template <class T>
  T result(std::int64_t) const {
    return static_cast<T>(largest + std::log(sum));
  }
};

}  // namespace

constinit const OpDef kReduceLogSumExp = reduction<LogSumExpFold>("ReduceLogSumExp");

}  // namespace saccade::ops
