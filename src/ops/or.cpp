// y = a || b of bools.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

struct EitherTrue {
  bool operator()(bool a, bool b) const { return a || b; }
};

}  // namespace

constinit const OpDef kOr = logical<EitherTrue>("Or");

}  // namespace saccade::ops
