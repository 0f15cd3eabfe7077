// y = a | b of integers.
#include "ops/bitwise.h"

namespace saccade::ops {

namespace {

struct AllBits {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

}  // namespace

constinit const OpDef kBitwiseOr = bitwise<AllBits>("BitwiseOr");

}  // namespace saccade::ops
