// The number of elements of the input, as an int64 scalar.
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) { context.output(0, DType::i64, {}); }

void evaluate(EvalContext& context) {
  context.out().data<std::int64_t>()[0] = element_count(context.shape(0));
}

}  // namespace

constinit const OpDef kSize{
    .name = "Size", .traits = kShapeArithmetic | kNativeHalf, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
