// A new axis of length depth: values[1] where its index equals the input's (negative ones count from the
// end), else values[0].
#include "ops/indices.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}};

std::int64_t depth_of(const NodeView& context) {
  const Tensor depth = convert(context.needed(1), DType::i64);
  if (depth.count() != 1)
    context.fail("depth must have one element, has shape " + shape_string(depth.shape()));
  const std::int64_t value = depth.data<std::int64_t>()[0];
  if (value < 0) context.fail("depth is " + std::to_string(value));
  return value;
}

std::size_t axis_of(const NodeView& context) {
  return normalize_axis(context, context.node().integer("axis", -1), context.rank(0) + 1);
}

void infer(InferContext& context) {
  if (context.shape(2) != Shape{2})
    context.mismatch("values must be [off, on], have shape " + shape_string(context.shape(2)));
  Shape shape = context.shape(0);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis_of(context)), depth_of(context));
  context.output(0, context.dtype(2), shape);
}

void evaluate(EvalContext& context) {
  const std::size_t axis = axis_of(context);
  const Tensor indices = convert(context.input(0), DType::i64);
  const std::int64_t depth = depth_of(context);
  const std::int64_t outer = product(indices.shape(), 0, axis),
                     inner = product(indices.shape(), axis, indices.rank());
  Tensor& y = context.out();
  visit_width(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* values = cells<T>(context.input(2));
    T* dst = cells<T>(y);
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t d = 0; d < depth; ++d)
        for (std::int64_t i = 0; i < inner; ++i) {
          const std::int64_t index = indices.data<std::int64_t>()[o * inner + i];
          *dst++ = values[index == d || (index < 0 && index + depth == d) ? 1 : 0];
        }
  });
}

}  // namespace

constinit const OpDef kOneHot{.name = "OneHot",
                              .attributes = kAttributes,
                              .min_inputs = 3,
                              .max_inputs = 3,
                              .traits = kNativeHalf,
                              .infer = infer,
                              .evaluate = evaluate};

}  // namespace saccade::ops
