// y = a / b; integers truncate towards zero, and dividing one by zero is an error.
#include "ops/elementwise.h"
#include "saccade/error.h"

namespace saccade::ops {

namespace {

struct DivideValues {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == T{0}) throw Error(ErrorCode::invalid_model, "integer division by zero");
      if (std::is_signed_v<T> && b == static_cast<T>(-1))
        return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};

}  // namespace

constinit const OpDef kDiv = arithmetic<DivideValues>("Div");

}  // namespace saccade::ops
