// Quantised matrix product: exact int32 sums times a_scale * b_scale / y_scale in single precision, rounded
// to even, saturated. Inputs: a, its scale and zero point (one value, or one a row), b likewise (one a
// column), y's scale and zero point.
#include "ops/product.h"
#include "ops/quantization.h"

namespace saccade::ops {

namespace {

std::int64_t rows_of(const NodeView& context, std::size_t i) {
  return context.rank(i) > 1 ? context.shape(i)[context.rank(i) - 2] : 1;
}

void infer(InferContext& context) {
  const Shape shape = product_shape(context, 0, 3);
  for (std::size_t i = 1; i < 3; ++i)
    check_granularity(context, i, rows_of(context, 0), "scale or zero point of a");
  for (std::size_t i = 4; i < 6; ++i)
    check_granularity(context, i, context.shape(3).back(), "scale or zero point of b");
  for (std::size_t i = 6; i < 8; ++i) check_granularity(context, i, 1, "scale or zero point of y");
  context.output(0, context.dtype(7), shape);
}

void evaluate(EvalContext& context) {
  const Tensor a = centred(context, 0, 2, context.rank(0) > 1 ? context.rank(0) - 2 : 0);
  const Tensor b = centred(context, 3, 5, context.rank(3) - 1);
  const std::int64_t rows = rows_of(context, 0), columns = context.rank(3) > 1 ? context.shape(3).back() : 1;
  const std::vector<double> a_scale = per_slice(context, 1, rows), b_scale = per_slice(context, 4, columns);
  const double y_scale = per_slice(context, 6, 1)[0], y_zero = per_slice(context, 7, 1)[0];
  visit_integer(context, context.output_type(0).dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* y = context.out().template data<T>();
    multiply_matrices<double>(context, a, b, [&](std::int64_t at, const std::vector<double>& sums) {
      const double row_scale = a_scale[static_cast<std::size_t>(at / columns % rows)];
      for (std::size_t j = 0; j < sums.size(); ++j)
        y[at + static_cast<std::int64_t>(j)] =
            requantised<T>(sums[j], combined_scale(row_scale, b_scale[j], y_scale), y_zero);
    });
  });
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  return saturating_product(element_count(outputs[0].shape), inputs[0]->shape.back());
}

}  // namespace

constinit const OpDef kQLinearMatMul{.name = "QLinearMatMul",
                                     .min_inputs = 8,
                                     .max_inputs = 8,
                                     .traits = kMultiplyAdd,
                                     .infer = infer,
                                     .evaluate = evaluate,
                                     .multiply_adds = multiply_adds};

}  // namespace saccade::ops
