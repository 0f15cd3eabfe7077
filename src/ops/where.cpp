// y = condition ? a : b, all three broadcast together.
#include "ops/elementwise.h"

namespace saccade::ops {

namespace {

void infer(InferContext& context) {
  if (context.dtype(0) != DType::boolean)
    context.fail(std::string("condition must be bool, is ") + dtype_name(context.dtype(0)));
  if (context.dtype(1) != context.dtype(2))
    context.fail(std::string("operands differ in type: ") + dtype_name(context.dtype(1)) + " and " +
                 dtype_name(context.dtype(2)));
  const Shape values = broadcast_shapes(context, context.shape(1), context.shape(2));
  context.output(0, context.dtype(1), broadcast_shapes(context, context.shape(0), values));
}

void evaluate(EvalContext& context) {
  const Tensor& condition = context.input(0);
  const Tensor& a = context.input(1);
  const Tensor& b = context.input(2);
  Tensor& y = context.out();
  const std::array<Strides, 4> strides{
      dense_strides(y.shape()), broadcast_strides(condition.shape(), y.shape()),
      broadcast_strides(a.shape(), y.shape()), broadcast_strides(b.shape(), y.shape())};
  visit_width(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_row<4>(y.shape(), strides, [&](const auto& at, std::int64_t n) {
      const bool* pc = condition.data<bool>() + at[1];
      const T* pa = cells<T>(a) + at[2];
      const T* pb = cells<T>(b) + at[3];
      T* py = cells<T>(y) + at[0];
      for (std::int64_t i = 0; i < n; ++i)
        py[i] = pc[i * step(strides[1])] ? pa[i * step(strides[2])] : pb[i * step(strides[3])];
    });
  });
}

}  // namespace

constinit const OpDef kWhere{.name = "Where",
                             .min_inputs = 3,
                             .max_inputs = 3,
                             .traits = kNativeHalf,
                             .infer = infer,
                             .evaluate = evaluate};

}  // namespace saccade::ops
