// Joins tensors along `axis`; all other dimensions are equal.
#include <cstring>

#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer, true}};

std::size_t axis_of(const NodeView& context) {
  return normalize_axis(context, context.node().integer("axis", 0), context.rank(0));
}

void infer(InferContext& context) {
  const std::size_t axis = axis_of(context);
  Shape shape = context.shape(0);
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (context.dtype(i) != context.dtype(0))
      context.fail("input " + std::to_string(i) + " is " + dtype_name(context.dtype(i)) + ", input 0 is " +
                   dtype_name(context.dtype(0)));
    Shape other = context.shape(i);
    const bool same_rank = other.size() == shape.size();
    const std::int64_t length = same_rank ? other[axis] : 0;
    if (same_rank) other[axis] = shape[axis];
    if (other != shape)
      context.mismatch("cannot join " + shape_string(context.shape(i)) + " (input " + std::to_string(i) +
                       ") to " + shape_string(context.shape(0)) + " along axis " + std::to_string(axis));
    if (__builtin_add_overflow(shape[axis], length, &shape[axis]))
      context.fail("the joined axis is too long");
  }
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const std::size_t axis = axis_of(context);
  Tensor& y = context.out();
  const std::int64_t outer = product(y.shape(), 0, axis);
  const auto bytes_of = [&](const Tensor& t) {
    return static_cast<std::size_t>(product(t.shape(), axis, t.rank())) * dtype_size(t.dtype());
  };
  const std::size_t row = bytes_of(y);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const std::size_t part = bytes_of(context.input(i));
    const auto* src = static_cast<const std::byte*>(context.input(i).raw());
    auto* dst = static_cast<std::byte*>(y.raw()) + offset;
    for (std::int64_t o = 0; o < outer; ++o)
      std::memcpy(dst + static_cast<std::size_t>(o) * row, src + static_cast<std::size_t>(o) * part, part);
    offset += part;
  }
}

}  // namespace

constinit const OpDef kConcat{.name = "Concat",
                              .attributes = kAttributes,
                              .min_inputs = 1,
                              .max_inputs = -1,
                              .traits = kNativeHalf,
                              .infer = infer,
                              .evaluate = evaluate};

}  // namespace saccade::ops
