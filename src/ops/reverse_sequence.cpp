// Reverses the first lengths[b] elements along the time axis of each batch entry b.
#include "ops/indices.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"batch_axis", AttributeKind::integer},
                                        {"time_axis", AttributeKind::integer}};

struct Axes {
  std::size_t batch, time;
};

Axes axes_of(const NodeView& context) {
  const Axes axes{
      normalize_axis(context, context.node().integer("batch_axis", 1), context.rank(0), "batch_axis"),
      normalize_axis(context, context.node().integer("time_axis", 0), context.rank(0), "time_axis")};
  if (axes.batch == axes.time) context.fail("batch_axis and time_axis are both " + std::to_string(axes.time));
  return axes;
}

void infer(InferContext& context) {
  const Axes axes = axes_of(context);
  require_index_type(context, 1);
  if (context.shape(1) != Shape{context.shape(0)[axes.batch]})
    context.mismatch("has lengths " + shape_string(context.shape(1)) + " for a batch of " +
                     std::to_string(context.shape(0)[axes.batch]));
  context.output(0, context.dtype(0), context.shape(0));
}

void evaluate(EvalContext& context) {
  const Axes axes = axes_of(context);
  const Tensor lengths = convert(context.input(1), DType::i64);
  const Shape& shape = context.shape(0);
  const Strides strides = dense_strides(shape);
  const std::int64_t steps = shape[axes.time];
  for (const std::int64_t length : lengths.values<std::int64_t>())
    if (length < 0 || length > steps)
      context.fail("length " + std::to_string(length) + " of a sequence of " + std::to_string(steps));
  visit_width(context.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = cells<T>(context.input(0));
    T* y = cells<T>(context.out());
    for (std::int64_t i = 0; i < context.out().count(); ++i) {
      const std::int64_t length = lengths.data<std::int64_t>()[i / strides[axes.batch] % shape[axes.batch]];
      const std::int64_t t = i / strides[axes.time] % steps;
      y[i] = x[t < length ? i + (length - 1 - 2 * t) * strides[axes.time] : i];
    }
  });
}

}  // namespace

constinit const OpDef kReverseSequence{.name = "ReverseSequence",
                                       .attributes = kAttributes,
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .traits = kNativeHalf,
                                       .infer = infer,
                                       .evaluate = evaluate};

}  // namespace saccade::ops
