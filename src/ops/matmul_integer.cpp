// Product of 8-bit integer matrices to int32, zero points taken off first: one for all, one a row of a, one a
// column of b.
#include "ops/product.h"
#include "ops/quantization.h"

namespace saccade::ops {

namespace {

std::int64_t rows_of(const NodeView& context, std::size_t i) {
  return context.rank(i) > 1 ? context.shape(i)[context.rank(i) - 2] : 1;
}

void infer(InferContext& context) {
  const Shape shape = product_shape(context, 0, 1);
  check_granularity(context, 2, rows_of(context, 0), "zero point of a");
  check_granularity(context, 3, context.shape(1).back(), "zero point of b");
  context.output(0, DType::i32, shape);
}

void evaluate(EvalContext& context) {
  const Tensor a = centred(context, 0, 2, context.rank(0) > 1 ? context.rank(0) - 2 : 0);
  const Tensor b = centred(context, 1, 3, context.rank(1) - 1);
  std::int32_t* y = context.out().data<std::int32_t>();
  multiply_matrices<double>(context, a, b, [&](std::int64_t at, const std::vector<double>& sums) {
    for (std::size_t j = 0; j < sums.size(); ++j)
      y[at + static_cast<std::int64_t>(j)] = static_cast<std::int32_t>(static_cast<std::int64_t>(sums[j]));
  });
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  return saturating_product(element_count(outputs[0].shape), inputs[0]->shape.back());
}

}  // namespace

constinit const OpDef kMatMulInteger{.name = "MatMulInteger",
                                     .min_inputs = 2,
                                     .max_inputs = 4,
                                     .traits = kMultiplyAdd,
                                     .infer = infer,
                                     .evaluate = evaluate,
                                     .multiply_adds = multiply_adds};

}  // namespace saccade::ops
