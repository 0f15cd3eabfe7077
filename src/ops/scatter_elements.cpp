// A copy of the data in which y[index[i][j]…][j]… meets updates[i][j]… along `axis`.
#include "ops/indices.h"

namespace saccade::ops {

namespace {

std::size_t axis_of(const NodeView& context) {
  return normalize_axis(context, context.node().integer("axis", 0), context.rank(0));
}

void infer(InferContext& context) {
  const std::size_t axis = axis_of(context);
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  require_index_type(context, 1);
  scatter_kind(context);
  bool fits = x.size() == indices.size() && context.shape(2) == indices;
  for (std::size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || indices[i] <= x[i];
  if (!fits)
    context.mismatch("indices " + shape_string(indices) + " and updates " + shape_string(context.shape(2)) +
                     " do not fit data " + shape_string(x));
  if (context.dtype(2) != context.dtype(0)) context.fail("updates and data differ in type");
  context.output(0, context.dtype(0), x);
}

void evaluate(EvalContext& context) {
  const std::size_t axis = axis_of(context);
  const Scatter kind = scatter_kind(context);
  const Tensor indices = convert(context.input(1), DType::i64);
  Tensor y = context.input(0).clone();
  Strides strides = dense_strides(y.shape());
  const std::int64_t along = strides[axis], length = y.dim(axis);
  strides[axis] = 0;
  visit_any(context, y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* updates = context.input(2).data<T>();
    T* dst = y.data<T>();
    const std::int64_t* index = indices.data<std::int64_t>();
    for_each_row<2>(
        indices.shape(), {dense_strides(indices.shape()), strides}, [&](const auto& at, std::int64_t n) {
          for (std::int64_t i = 0; i < n; ++i)
            scatter_into(
                kind,
                dst[at[1] + i * step(strides) + checked_index(context, index[at[0] + i], length) * along],
                updates[at[0] + i]);
        });
  });
  context.set(0, std::move(y));
}

}  // namespace

constinit const OpDef kScatterElements{.name = "ScatterElements",
                                       .attributes = kScatterAttributes,
                                       .min_inputs = 3,
                                       .max_inputs = 3,
                                       .infer = infer,
                                       .evaluate = evaluate};

}  // namespace saccade::ops
