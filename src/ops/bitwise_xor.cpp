// y = a ^ b of integers.
#include "ops/bitwise.h"

namespace saccade::ops {

namespace {

struct DifferentBits {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

}  // namespace

constinit const OpDef kBitwiseXor = bitwise<DifferentBits>("BitwiseXor");

}  // namespace saccade::ops
