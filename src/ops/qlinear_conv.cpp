// Quantised convolution: exact int32 sums (bias included) times x_scale * w_scale / y_scale in single
// precision, rounded to even, saturated. Inputs: x, its scale and zero point, w likewise (one value, or one a
// filter), y's scale and zero point, int32 bias. `low` and `high` bound the result: a fused activation.
#include <algorithm>
#include <limits>
#include <utility>

#include "ops/convolution.h"
#include "ops/quantization.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"strides", AttributeKind::integers}, {"dilations", AttributeKind::integers},
    {"pads", AttributeKind::integers},    {"group", AttributeKind::integer},
    {"auto_pad", AttributeKind::text},    {"kernel_shape", AttributeKind::integers},
    {"low", AttributeKind::integer},      {"high", AttributeKind::integer}};

void infer(InferContext& context) {
  const Shape y = convolution_shape(context, 3);
  check_granularity(context, 1, 1, "scale of x");
  check_granularity(context, 2, 1, "zero point of x");
  check_granularity(context, 4, y[1], "scale of w");
  check_granularity(context, 5, y[1], "zero point of w");
  check_granularity(context, 6, 1, "scale of y");
  check_granularity(context, 7, 1, "zero point of y");
  check_bias(context, 8, DType::i32, y[1]);
  for (const auto& [data, zero] : {std::pair<std::size_t, std::size_t>{0, 2}, {3, 5}})
    if (has_zero_point(context, zero) && context.dtype(zero) != context.dtype(data))
      context.fail("zero point and data differ in type");
  context.output(0, context.dtype(7), y);
}

void evaluate(EvalContext& context) {
  const Tensor x = centred(context, 0, 2, 0), w = centred(context, 3, 5, 0);
  const Window window = forward_window(context, spatial_dims(x.shape()), spatial_dims(w.shape()));
  const std::int64_t filters = w.dim(0);
  const double x_scale = per_slice(context, 1, 1)[0], y_scale = per_slice(context, 6, 1)[0],
               y_zero = per_slice(context, 7, 1)[0];
  const std::vector<double> w_scale = per_slice(context, 4, filters), bias = per_slice(context, 8, filters);
  if (context.out().count() == 0) return;
  visit_integer(context, context.output_type(0).dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* y = context.out().template data<T>();
    constexpr auto kLeast = static_cast<std::int64_t>(std::numeric_limits<T>::min());
    constexpr auto kMost = std::in_range<std::int64_t>(std::numeric_limits<T>::max())
                               ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                               : std::numeric_limits<std::int64_t>::max();
    const auto low = static_cast<T>(std::clamp(context.node().integer("low", kLeast), kLeast, kMost)),
               high = static_cast<T>(std::clamp(context.node().integer("high", kMost), kLeast, kMost));
    convolve<double>(x, w, context.node().integer("group", 1), window,
                     [&](std::int64_t m, std::int64_t at, const std::vector<double>& sums) {
                       const auto filter = static_cast<std::size_t>(m);
                       const float ratio = combined_scale(x_scale, w_scale[filter], y_scale);
                       for (std::size_t i = 0; i < sums.size(); ++i)
                         y[at + static_cast<std::int64_t>(i)] = std::min(
                             high, std::max(low, requantised<T>(sums[i] + bias[filter], ratio, y_zero)));
                     });
  });
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  const Shape& w = inputs[3]->shape;
  return saturating_product(element_count(outputs[0].shape), product(w, 1, w.size()));
}

}  // namespace

constinit const OpDef kQLinearConv{.name = "QLinearConv",
                                   .attributes = kAttributes,
                                   .min_inputs = 8,
                                   .max_inputs = 9,
                                   .traits = kMultiplyAdd,
                                   .infer = infer,
                                   .evaluate = evaluate,
                                   .multiply_adds = multiply_adds};

}  // namespace saccade::ops
