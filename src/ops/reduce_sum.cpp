// Sum over axes; integers wrap around.
#include "ops/reduce.h"

namespace saccade::ops {

namespace {

struct SumFold {
  double real = 0;
  std::uint64_t whole = 0;
  template <class T>
  void add(T x) {
    if constexpr (std::is_integral_v<T>) {
      const auto v = static_cast<std::uint64_t>(x);
      whole += v;
    } else {
      const double v = static_cast<double>(x);
      real += v;
    }
  }
  template <class T>
  T result(std::int64_t) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(whole);
    else
      return static_cast<T>(real);
  }
};

}  // namespace

constinit const OpDef kReduceSum = reduction<SumFold>("ReduceSum");

}  // namespace saccade::ops
