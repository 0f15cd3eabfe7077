// Largest element over axes; NaN if there is one. Of nothing: the lowest value.
#include <limits>

#include "ops/reduce.h"

namespace saccade::ops {

namespace {

struct MaxFold {
  double real = 0;
  std::int64_t whole = 0;  ///< for integers: as they are, u64 by its bits
  bool any = false;
  template <class T>
  void add(T x) {
    if constexpr (std::is_integral_v<T>) {
      if (!any || x > static_cast<T>(whole)) whole = static_cast<std::int64_t>(x);
    } else {
      const auto v = static_cast<double>(x);
      if (!any || v > real || std::isnan(v)) real = std::isnan(real) ? real : v;
    }
    any = true;
  }
  template <class T>
  T result(std::int64_t) const {
    if constexpr (std::is_integral_v<T>)
      return any ? static_cast<T>(whole) : std::numeric_limits<T>::lowest();
    else
      return any ? static_cast<T>(real) : static_cast<T>(-HUGE_VAL);
  }
};

}  // namespace

constinit const OpDef kReduceMax = reduction<MaxFold, true>("ReduceMax");

}  // namespace saccade::ops
