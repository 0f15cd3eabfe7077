// y = x.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

void evaluate(EvalContext& context) { context.set(0, context.input(0)); }

}  // namespace

constinit const OpDef kIdentity{
    .name = "Identity", .traits = kView | kNativeHalf, .infer = infer_unary, .evaluate = evaluate};

}  // namespace saccade::ops
