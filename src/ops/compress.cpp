// The slices along `axis` (or, without it, the elements) for which the condition holds; a short condition
// ends in false.
#include <cstring>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}};

/// The input as outer x length x block elements, and which of the length are kept.
struct Selection {
  std::int64_t outer, length, block;
  std::vector<std::int64_t> kept;
};

Selection select(const NodeView& context) {
  const Shape& x = context.shape(0);
  Selection s{1, product(x, 0, x.size()), 1, {}};
  if (context.node().has("axis")) {
    const std::size_t axis = normalize_axis(context, context.node().integer("axis", 0), x.size());
    s = {product(x, 0, axis), x[axis], product(x, axis + 1, x.size()), {}};
  }
  const Tensor& condition = context.needed(1);
  if (condition.rank() != 1 || condition.dtype() != DType::boolean)
    context.fail("condition must be a list of bool");
  if (condition.count() > s.length)
    context.mismatch("condition has " + std::to_string(condition.count()) + " entries for " +
                     std::to_string(s.length) + " elements");
  for (std::int64_t i = 0; i < condition.count(); ++i)
    if (condition.data<bool>()[i]) s.kept.push_back(i);
  return s;
}

void infer(InferContext& context) {
  const auto kept = static_cast<std::int64_t>(select(context).kept.size());
  Shape shape{kept};
  if (context.node().has("axis")) {
    shape = context.shape(0);
    shape[normalize_axis(context, context.node().integer("axis", 0), shape.size())] = kept;
  }
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const Selection s = select(context);
  const auto bytes = static_cast<std::size_t>(s.block) * dtype_size(context.dtype(0));
  const auto* src = static_cast<const std::byte*>(context.input(0).raw());
  auto* dst = static_cast<std::byte*>(context.out().raw());
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (const std::int64_t i : s.kept) {
      std::memcpy(dst, src + static_cast<std::size_t>(o * s.length + i) * bytes, bytes);
      dst += bytes;
    }
}

}  // namespace

constinit const OpDef kCompress{.name = "Compress",
                                .attributes = kAttributes,
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .traits = kDataDependentShape | kNativeHalf,
                                .infer = infer,
                                .evaluate = evaluate};

}  // namespace saccade::ops
