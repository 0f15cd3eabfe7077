// Convolution of any rank, with groups, and as passes leave it: y = activation(conv(gate * x) + bias +
// residual), or with `residual_last` activation(conv(gate * x) + bias) + residual. The residual (input 3) has
// the result's shape, or one pixel a picture, which is added to all. The gate (input 4) has one value a
// channel and picture. Data may be bf16 beside f32 parameters.
#include "ops/convolution.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {
    {"strides", AttributeKind::integers},     {"dilations", AttributeKind::integers},
    {"pads", AttributeKind::integers},        {"group", AttributeKind::integer},
    {"auto_pad", AttributeKind::text},        {"kernel_shape", AttributeKind::integers},
    {"activation", AttributeKind::text},      {"activation_alpha", AttributeKind::real},
    {"activation_beta", AttributeKind::real}, {"residual_last", AttributeKind::integer},
    {"coarse", AttributeKind::integer},       kStoreAs};

constexpr std::size_t kGate = 4;

/// The shape of a picture of one pixel with as many channels.
Shape one_pixel(const Shape& shape) {
  Shape pixel(shape.size(), 1);
  pixel[0] = shape[0], pixel[1] = shape[1];
  return pixel;
}

void infer(InferContext& context) {
  const Shape y = convolution_shape(context, 1);
  check_weights(context);
  check_bias(context, 2, context.dtype(1), y[1]);
  Activation{context};
  if (context.has(3) && ((context.shape(3) != y && context.shape(3) != one_pixel(y)) ||
                         !data_fits(context.dtype(3), context.dtype(0))))
    context.mismatch("residual has shape " + shape_string(context.shape(3)) + ", the convolution gives " +
                     shape_string(y));
  if (context.has(kGate)) {
    const Shape gate = one_pixel(context.shape(0));
    if (context.shape(kGate) != gate || !data_fits(context.dtype(kGate), context.dtype(0)))
      context.mismatch("gate has shape " + shape_string(context.shape(kGate)) + ", expected " +
                       shape_string(gate));
  }
  context.output(0, stored_type(context), y);
}

/// Each channel times its gate.
template <class T>
Tensor gated(const Tensor& x, const Tensor& gate) {
  Tensor result(x.dtype(), x.shape());
  const std::int64_t plane = product(x.shape(), 2, x.rank());
  for (std::int64_t i = 0; i < x.count(); ++i)
    result.data<T>()[i] = x.data<T>()[i] * gate.data<T>()[i / plane];
  return result;
}

template <class T>
void convolve_floats(EvalContext& context, const Window& window) {
  const Tensor& w = context.input(1);
  const Activation activation(context);
  const T* bias = context.has(2) ? context.input(2).data<T>() : nullptr;
  const T* residual = context.has(3) ? context.input(3).data<T>() : nullptr;
  const bool last = context.node().integer("residual_last", 0) != 0;
  T* y = context.out().data<T>();
  // Results of a channel that share a value of the residual.
  const bool spread = residual != nullptr && context.input(3).shape() != context.out().shape();
  const std::int64_t plane = spread ? product(context.out().shape(), 2, context.out().rank()) : 1;
  const Tensor x = context.has(kGate) ? gated<T>(context.input(0), context.input(kGate)) : context.input(0);
  convolve<T>(x, w, context.node().integer("group", 1), window,
              [&](std::int64_t m, std::int64_t at, const std::vector<double>& sums) {
                for (std::size_t i = 0; i < sums.size(); ++i) {
                  const auto here = at + static_cast<std::int64_t>(i);
                  double sum = sums[i];
                  if (bias != nullptr) sum += static_cast<double>(bias[m]);
                  const double added = residual != nullptr ? static_cast<double>(residual[here / plane]) : 0;
                  y[here] = static_cast<T>(last ? activation(sum) + added : activation(sum + added));
                }
              });
}

void evaluate(EvalContext& context) {
  const Window window =
      flattened(forward_window(context, spatial_dims(context.shape(0)), spatial_dims(context.shape(1))));
  if (context.out().count() == 0) return;
  visit_float(context, context.dtype(0),
              [&](auto tag) { convolve_floats<typename decltype(tag)::Type>(context, window); });
}

std::int64_t multiply_adds(const ir::Node&, std::span<const TensorType* const> inputs,
                           std::span<const TensorType> outputs) {
  const Shape& w = inputs[1]->shape;
  return saturating_product(element_count(outputs[0].shape), product(w, 1, w.size()));
}

}  // namespace

constinit const OpDef kConv{.name = "Conv",
                            .attributes = kAttributes,
                            .min_inputs = 2,
                            .max_inputs = 5,
                            .traits = kMultiplyAdd,
                            .infer = infer,
                            .evaluate = evaluate,
                            .multiply_adds = multiply_adds};

}  // namespace saccade::ops
