// Broadcasts to a shape; where the target has 1 the input's dimension stays.
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  const Shape target = integer_list(context, 1);
  for (const std::int64_t dim : target)
    if (dim < 0) context.fail("dimension " + std::to_string(dim) + " in the target shape");
  context.output(0, context.dtype(0), broadcast_shapes(context, context.shape(0), target));
}

void evaluate(EvalContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.out();
  const Strides strides = broadcast_strides(x.shape(), y.shape());
  visit_width(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* src = cells<T>(x);
    T* dst = cells<T>(y);
    for_each_row<2>(y.shape(), {dense_strides(y.shape()), strides}, [&](const auto& at, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) dst[at[0] + i] = src[at[1] + i * step(strides)];
    });
  });
}

}  // namespace

constinit const OpDef kExpand{.name = "Expand",
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .traits = kNativeHalf,
                              .infer = infer,
                              .evaluate = evaluate};

}  // namespace saccade::ops
