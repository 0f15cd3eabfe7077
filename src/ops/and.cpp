// y = a && b of bools.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct BothTrue {
  bool operator()(bool a, bool b) const { return a && b; }
};

}  // namespace

constinit const OpDef kAnd = logical<BothTrue>("And");

}  // namespace saccade::ops
