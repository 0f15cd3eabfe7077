// y = a & b of integers.
#include "ops/bitwise.h"

namespace saccade::ops {

namespace {

struct CommonBits {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

}  // namespace

constinit const OpDef kBitwiseAnd = bitwise<CommonBits>("BitwiseAnd");

}  // namespace saccade::ops
