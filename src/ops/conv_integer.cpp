// Convolution of 8-bit integers to int32, zero points taken off first; padding counts as the input's zero
// point.
#include "ops/convolution.h"
#include "ops/quantization.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"strides", AttributeKind::integers}, {"dilations", AttributeKind::integers},
    {"pads", AttributeKind::integers},    {"group", AttributeKind::integer},
    {"auto_pad", AttributeKind::text},    {"kernel_shape", AttributeKind::integers}};

void infer(InferContext& context) {
  const Shape y = convolution_shape(context, 1);
  check_granularity(context, 2, 1, "zero point of x");
  check_granularity(context, 3, y[1], "zero point of w");
  context.output(0, DType::i32, y);
}

void evaluate(EvalContext& context) {
  const Tensor x = centred(context, 0, 2, 0), w = centred(context, 1, 3, 0);
  const Window window = forward_window(context, spatial_dims(x.shape()), spatial_dims(w.shape()));
  std::int32_t* y = context.out().data<std::int32_t>();
  if (context.out().count() == 0) return;
  convolve<double>(x, w, context.node().integer("group", 1), window,
                   [&](std::int64_t, std::int64_t at, const std::vector<double>& sums) {
                     for (std::size_t i = 0; i < sums.size(); ++i)
                       y[at + static_cast<std::int64_t>(i)] =
                           static_cast<std::int32_t>(static_cast<std::int64_t>(sums[i]));
                   });
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  const Shape& w = inputs[1]->shape;
  return saturating_product(element_count(outputs[0].shape), product(w, 1, w.size()));
}

}  // namespace

constinit const OpDef kConvInteger{.name = "ConvInteger",
                                   .attributes = kAttributes,
                                   .min_inputs = 2,
                                   .max_inputs = 4,
                                   .traits = kMultiplyAdd,
                                   .infer = infer,
                                   .evaluate = evaluate,
                                   .multiply_adds = multiply_adds};

}  // namespace saccade::ops
