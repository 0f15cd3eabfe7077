// y = |x|. The most negative integer stays itself.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct AbsInteger {
  template <class T>
  T operator()(T x) const {
    return x > 0 ? x : static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
  }
};

}  // namespace

constinit const OpDef kAbs =
    unary_number<AbsInteger>("Abs", [](const double* x, const double*) { return std::fabs(x[0]); });

}  // namespace saccade::ops
