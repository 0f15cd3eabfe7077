// Slices of the data along `axis`, picked by an index tensor of any rank; negative indices count from the
// end.
#include <cstring>

#include "ops/indices.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}};

std::size_t axis_of(const NodeView& context) {
  return normalize_axis(context, context.node().integer("axis", 0), context.rank(0));
}

void infer(InferContext& context) {
  const std::size_t axis = axis_of(context);
  require_index_type(context, 1);
  Shape shape = context.shape(0);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), context.shape(1).begin(),
               context.shape(1).end());
  context.output(0, context.dtype(0), shape);
}

void evaluate(EvalContext& context) {
  const std::size_t axis = axis_of(context);
  const Tensor& data = context.input(0);
  const Tensor indices = convert(context.input(1), DType::i64);
  const std::int64_t length = data.dim(axis);
  const std::int64_t outer = product(data.shape(), 0, axis);
  const auto block =
      static_cast<std::size_t>(product(data.shape(), axis + 1, data.rank())) * dtype_size(data.dtype());
  const auto* src = static_cast<const std::byte*>(data.raw());
  auto* dst = static_cast<std::byte*>(context.out().raw());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t given : indices.values<std::int64_t>()) {
      const std::int64_t index = checked_index(context, given, length);
      std::memcpy(dst, src + static_cast<std::size_t>(o * length + index) * block, block);
      dst += block;
    }
  }
}

}  // namespace

constinit const OpDef kGather{.name = "Gather",
                              .attributes = kAttributes,
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .traits = kNativeHalf,
                              .infer = infer,
                              .evaluate = evaluate};

}  // namespace saccade::ops
