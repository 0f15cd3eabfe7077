// y[i][j]… = x[index[i][j]…][j]… along `axis`.
#include "ops/indices.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"axis", AttributeKind::integer}};

std::size_t axis_of(const NodeView& context) {
  return normalize_axis(context, context.node().integer("axis", 0), context.rank(0));
}

void infer(InferContext& context) {
  const std::size_t axis = axis_of(context);
  const Shape& x = context.shape(0);
  const Shape& indices = context.shape(1);
  require_index_type(context, 1);
  bool fits = x.size() == indices.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || indices[i] <= x[i];
  if (!fits) context.mismatch("indices " + shape_string(indices) + " do not fit data " + shape_string(x));
  context.output(0, context.dtype(0), indices);
}

void evaluate(EvalContext& context) {
  const std::size_t axis = axis_of(context);
  const Tensor& x = context.input(0);
  const Tensor indices = convert(context.input(1), DType::i64);
  Strides strides = dense_strides(x.shape());
  const std::int64_t along = strides[axis], length = x.dim(axis);
  strides[axis] = 0;
  visit_width(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* src = cells<T>(x);
    T* dst = cells<T>(context.out());
    const std::int64_t* index = indices.data<std::int64_t>();
    for_each_row<2>(
        indices.shape(), {dense_strides(indices.shape()), strides}, [&](const auto& at, std::int64_t n) {
          for (std::int64_t i = 0; i < n; ++i)
            dst[at[0] + i] =
                src[at[1] + i * step(strides) + checked_index(context, index[at[0] + i], length) * along];
        });
  });
}

}  // namespace

constinit const OpDef kGatherElements{.name = "GatherElements",
                                      .attributes = kAttributes,
                                      .min_inputs = 2,
                                      .max_inputs = 2,
                                      .traits = kNativeHalf,
                                      .infer = infer,
                                      .evaluate = evaluate};

}  // namespace saccade::ops
