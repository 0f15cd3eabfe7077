// To two dimensions: those before `axis` times those from it on.
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}};

void infer(InferContext& context) {
  const Shape& shape = context.shape(0);
  const std::int64_t given = context.node().integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (given < -rank || given > rank)
    context.fail("axis " + std::to_string(given) + " is out of range for rank " + std::to_string(rank));
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  context.output(0, context.dtype(0), {product(shape, 0, axis), product(shape, axis, shape.size())});
}

void evaluate(EvalContext& context) {
  context.set(0, context.input(0).reshaped(context.output_type(0).shape));
}

}  // namespace

constinit const OpDef kFlatten{.name = "Flatten",
                               .attributes = kAttributes,
                               .traits = kView | kNativeHalf,
                               .infer = infer,
                               .evaluate = evaluate};

}  // namespace saccade::ops
