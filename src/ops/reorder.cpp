// The identity on logical values: a physical copy between layouts or pitches, made by the compiler only.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

void evaluate(EvalContext& context) { context.set(0, context.input(0)); }

}  // namespace

constinit const OpDef kReorder{
    .name = "Reorder", .traits = kNativeHalf, .infer = infer_unary, .evaluate = evaluate};

}  // namespace saccade::ops
