// The indices of the elements that are not zero, one column each, in row-major order.
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

/// Flat positions of the elements that are not zero.
std::vector<std::int64_t> positions(const NodeView& context) {
  const Tensor& x = context.needed(0);
  std::vector<std::int64_t> found;
  visit_any(context, x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (std::int64_t i = 0; i < x.count(); ++i)
      if (x.data<T>()[i] != T{}) found.push_back(i);
  });
  return found;
}

void infer(InferContext& context) {
  // A shape rule sees f16 and bf16 as they are; their zeros are those of the integers of their width but for
  // the sign.
  const DType dtype = context.dtype(0);
  if (dtype == DType::f16 || dtype == DType::bf16) {
    const Tensor& x = context.needed(0);
    const auto* bits = static_cast<const std::uint16_t*>(x.raw());
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < x.count(); ++i) count += (bits[i] & 0x7fffu) != 0;
    return context.output(0, DType::i64, {static_cast<std::int64_t>(context.rank(0)), count});
  }
  context.output(
      0, DType::i64,
      {static_cast<std::int64_t>(context.rank(0)), static_cast<std::int64_t>(positions(context).size())});
}

void evaluate(EvalContext& context) {
  const std::vector<std::int64_t> found = positions(context);
  const Strides strides = dense_strides(context.shape(0));
  std::int64_t* y = context.out().data<std::int64_t>();
  for (std::size_t axis = 0; axis < strides.size(); ++axis)
    for (const std::int64_t position : found) *y++ = position / strides[axis] % context.shape(0)[axis];
}

}  // namespace

constinit const OpDef kNonZero{
    .name = "NonZero", .traits = kDataDependentShape, .infer = infer, .evaluate = evaluate};

}  // namespace saccade::ops
