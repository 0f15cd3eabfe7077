// A cache with an update written into it along an axis, for each entry of the batch from its own position on.
// Inputs: cache, update, [positions]. mode "circular" goes on at the beginning.
#include <cstring>

#include "ops/indices.h"
#include "ops/table_rare.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}, {"mode", AttributeKind::text}};

std::size_t axis_of(const NodeView& context) {
  const std::size_t axis = normalize_axis(context, context.node().integer("axis", -2), context.rank(0));
  if (axis == 0) context.fail("the axis is that of the batch");
  return axis;
}

void infer(InferContext& context) {
  const std::size_t axis = axis_of(context);
  Shape expected = context.shape(0);
  if (context.rank(1) == expected.size() && context.shape(1)[axis] <= expected[axis])
    expected[axis] = context.shape(1)[axis];
  if (context.shape(1) != expected || context.dtype(1) != context.dtype(0))
    context.mismatch("the update " + shape_string(context.shape(1)) + " does not fit the cache " +
                     shape_string(context.shape(0)));
  if (context.has(2) && context.shape(2) != Shape{expected[0]})
    context.mismatch("positions have shape " + shape_string(context.shape(2)));
  const std::string mode = context.node().text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    context.fail("mode is '" + mode + "', expected linear or circular");
  context.output(0, context.dtype(0), context.shape(0));
}

void evaluate(EvalContext& context) {
  const Tensor& update = context.input(1);
  Tensor y = context.input(0).clone();
  const std::size_t axis = axis_of(context);
  const std::int64_t outer = product(y.shape(), 1, axis), length = update.dim(axis), size = y.dim(axis);
  const std::size_t row =
      static_cast<std::size_t>(product(y.shape(), axis + 1, y.rank())) * dtype_size(y.dtype());
  const bool circular = context.node().text("mode", "linear") == "circular";
  const Tensor starts = context.has(2) ? convert(context.input(2), DType::i64) : Tensor();
  for (std::int64_t n = 0; n < y.dim(0); ++n) {
    const std::int64_t start = starts.empty() ? 0 : starts.data<std::int64_t>()[n];
    if (start < 0 || start > (std::int64_t{1} << 40) || (!circular && start + length > size))
      context.fail("position " + std::to_string(start) + " is out of range");
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < length && row > 0; ++i)
        std::memcpy(static_cast<std::byte*>(y.raw()) +
                        static_cast<std::size_t>((n * outer + o) * size + (start + i) % size) * row,
                    static_cast<const std::byte*>(update.raw()) +
                        static_cast<std::size_t>((n * outer + o) * length + i) * row,
                    row);
  }
  context.set(0, std::move(y));
}

}  // namespace

constinit const OpDef kTensorScatter{.name = "TensorScatter",
                                     .attributes = kAttributes,
                                     .min_inputs = 2,
                                     .max_inputs = 3,
                                     .traits = kNativeHalf,
                                     .infer = infer,
                                     .evaluate = evaluate};

}  // namespace saccade::ops
