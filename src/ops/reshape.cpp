// The same elements under another shape: -1 is computed, 0 copies the input's dimension (unless allowzero).
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"allowzero", AttributeKind::integer}};

void infer(InferContext& context) {
  const Shape& from = context.shape(0);
  Shape shape = integer_list(context, 1);
  const Shape asked = shape;
  const auto refuse = [&] {
    context.mismatch("cannot reshape " + shape_string(from) + " to " + shape_string(asked));
  };
  const bool keep_zero = context.node().integer("allowzero", 0) != 0;
  std::size_t unknown = shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !keep_zero) {
      if (i >= from.size())
        context.fail("dimension " + std::to_string(i) + " of the target is 0 but the input has rank " +
                     std::to_string(from.size()));
      shape[i] = from[i];
    } else if (shape[i] == -1) {
      if (unknown != shape.size()) context.fail("more than one -1 in the target shape");
      unknown = i;
    } else if (shape[i] < 0) {
      context.fail("dimension " + std::to_string(shape[i]) + " in the target shape");
    }
  }
  const std::int64_t count = element_count(from);
  if (unknown != shape.size()) {
    shape[unknown] = 1;
    const std::int64_t rest = element_count(shape);
    if (rest == 0 ? count != 0 : count % rest != 0) refuse();
    shape[unknown] = rest == 0 ? 0 : count / rest;
  }
  if (element_count(shape) != count) refuse();
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  context.set(0, context.input(0).reshaped(context.output_type(0).shape));
}

}  // namespace

constinit const OpDef kReshape{.name = "Reshape",
                               .attributes = kAttributes,
                               .min_inputs = 2,
                               .max_inputs = 2,
                               .traits = kView | kNativeHalf,
                               .infer = infer,
                               .evaluate = evaluate};

}  // namespace saccade::ops
