// y = a != b of bools.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct Differ {
  bool operator()(bool a, bool b) const { return a != b; }
};

}  // namespace

constinit const OpDef kXor = logical<Differ>("Xor");

}  // namespace saccade::ops
