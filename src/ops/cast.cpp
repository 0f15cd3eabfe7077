// Conversion to another element type (attribute `to`, as dtype_name() prints it); rules in convert.h.
#include "ops/convert.h"
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"to", AttributeKind::text, true}};

void infer(InferContext& context) {
  context.output(0, parse_dtype(context, context.node().text("to", "")), context.shape(0));
}

void evaluate(EvalContext& context) {
  context.set(0, convert(context.input(0), context.output_type(0).dtype));
}

}  // namespace

constinit const OpDef kCast{
    .name = "Cast", .attributes = kAttributes, .traits = kNativeHalf, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
