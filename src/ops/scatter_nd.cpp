// A copy of the data in which the slices named by index tuples meet the updates.
#include <algorithm>

#include "ops/indices.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"reduction", AttributeKind::text}};

void infer(InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  require_index_type(context, 1);
  scatter_kind(context);
  if (indices.empty() || indices.back() < 0 || indices.back() > static_cast<std::int64_t>(x.size()))
    context.mismatch("index tuples " + shape_string(indices) + " for data " + shape_string(x));
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), x.begin() + indices.back(), x.end());
  if (context.shape(2) != expected)
    context.mismatch("updates have shape " + shape_string(context.shape(2)) + ", expected " +
                     shape_string(expected));
  if (context.dtype(2) != context.dtype(0)) context.fail("updates and data differ in type");
  context.output(0, context.dtype(0), x);
}

void evaluate(EvalContext& context) {
  const Scatter kind = scatter_kind(context);
  const Tensor indices = convert(context.input(1), DType::i64);
  Tensor y = context.input(0).clone();
  const std::int64_t tuple = indices.shape().back();
  const std::int64_t count = product(indices.shape(), 0, indices.rank() - 1);
  const std::int64_t block = product(y.shape(), static_cast<std::size_t>(tuple), y.rank());
  const Strides strides = dense_strides(y.shape());
  visit_any(context, y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* updates = context.input(2).data<T>();
    const std::int64_t* index = indices.data<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t offset = 0;
      for (std::int64_t k = 0; k < tuple; ++k) {
        const auto axis = static_cast<std::size_t>(k);
        offset += checked_index(context, *index++, y.dim(axis)) * strides[axis];
      }
      for (std::int64_t j = 0; j < block; ++j)
        scatter_into(kind, y.data<T>()[offset + j], updates[i * block + j]);
    }
  });
  context.set(0, std::move(y));
}

}  // namespace

constinit const OpDef kScatterND{.name = "ScatterND",
                                 .attributes = kAttributes,
                                 .min_inputs = 3,
                                 .max_inputs = 3,
                                 .infer = infer,
                                 .evaluate = evaluate};

}  // namespace saccade::ops
