// Convolutions and matrix products. Weights are (out, height, width, in); the IR's are (out, in, height,
// width).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

using Code = tflite::BuiltinOperator;

std::string padding_rule(TfliteOperator& op, tflite::Padding padding) {
  if (padding == tflite::Padding::SAME) return "same_upper";
  if (padding == tflite::Padding::VALID) return "valid";
  op.invalid(fmt::format("padding is {}, expected SAME or VALID", static_cast<int>(padding)));
}

void check_positive(TfliteOperator& op, const char* what, std::int64_t a, std::int64_t b) {
  if (a < 1 || b < 1) op.invalid(fmt::format("{} is {}x{}, expected at least 1x1", what, a, b));
}

Shape weight_shape(TfliteOperator& op, std::size_t i) {
  Shape shape = op.input_shape(i);
  if (shape.size() != 4) op.invalid("weights have shape " + shape_string(shape) + ", expected 4 dimensions");
  return shape;
}

std::int64_t channels(TfliteOperator& op, std::size_t i) {
  const Shape shape = op.input_shape(i);
  if (shape.size() != 4 || shape[3] < 1)
    op.invalid("input has shape " + shape_string(shape) + ", expected 4 dimensions with known channels");
  return shape[3];
}

/// A bias of integers counts in products of the scales of input `x` and weights `w`.
ir::ValueId bias_input(TfliteOperator& op, std::size_t i, std::size_t x, std::size_t w) {
  if (!op.has_input(i)) return ir::kNoValue;
  const DType dtype = tflite_dtype(op.input_tensor(i).type()).value_or(DType::f32);
  const bool counts = dtype == DType::i32 || dtype == DType::i64;
  if (!counts || !is_quantised(op.input_tensor(x)) || !is_quantised(op.input_tensor(w))) return op.input(i);
  const std::optional<Tensor> stored = op.stored(i);
  if (!stored) op.unsupported("a bias of integers that is not constant is not supported");
  const double x_scale = static_cast<double>(quantisation_of(op.input_tensor(x)).scales.front());
  const std::vector<float> w_scales = quantisation_of(op.input_tensor(w)).scales;
  const std::vector<double> values = to_doubles(*stored);
  if (w_scales.size() > 1 && w_scales.size() != values.size())
    op.invalid(fmt::format("has {} scales of weights and a bias of {}", w_scales.size(), values.size()));
  Tensor bias(DType::f32, stored->shape());
  for (std::size_t c = 0; c < values.size(); ++c)
    bias.data<float>()[c] =
        static_cast<float>(values[c] * x_scale * static_cast<double>(w_scales[w_scales.size() > 1 ? c : 0]));
  return op.tensor_constant(std::move(bias));
}

template <class Options>
ir::Attributes window(TfliteOperator& op, const Options& options) {
  check_positive(op, "stride", options.stride_h(), options.stride_w());
  check_positive(op, "dilation", options.dilation_h_factor(), options.dilation_w_factor());
  return {{"auto_pad", padding_rule(op, options.padding())},
          {"strides", std::vector<std::int64_t>{options.stride_h(), options.stride_w()}},
          {"dilations", std::vector<std::int64_t>{options.dilation_h_factor(), options.dilation_w_factor()}}};
}

void translate_conv(TfliteOperator& op) {
  const auto& options = op.options<tflite::Conv2DOptions>();
  const std::int64_t inner = weight_shape(op, 1)[3], outer = channels(op, 0);
  if (inner < 1 || outer % inner != 0)
    op.invalid(fmt::format("weights take {} channels, the input has {}", inner, outer));
  ir::Attributes attributes = window(op, options);
  attributes.emplace("group", outer / inner);
  const ir::ValueId x = op.planar_input(0), w = op.transposed_input(1, {0, 3, 1, 2});
  const ir::ValueId y = op.emit("Conv", {x, w, bias_input(op, 2, 0, 1)}, std::move(attributes));
  op.finish_planar(op.activate(y, options.fused_activation_function()));
}

void translate_depthwise_conv(TfliteOperator& op) {
  const auto& options = op.options<tflite::DepthwiseConv2DOptions>();
  const std::int64_t outer = weight_shape(op, 1)[3], group = channels(op, 0);
  if (weight_shape(op, 1)[0] != 1 || outer % group != 0)
    op.invalid(fmt::format("weights have shape {}, the input has {} channels",
                           shape_string(weight_shape(op, 1)), group));
  ir::Attributes attributes = window(op, options);
  attributes.emplace("group", group);
  const ir::ValueId x = op.planar_input(0), w = op.transposed_input(1, {3, 0, 1, 2});
  const ir::ValueId y = op.emit("Conv", {x, w, bias_input(op, 2, 0, 1)}, std::move(attributes));
  op.finish_planar(op.activate(y, options.fused_activation_function()));
}

/// One axis of a transposed convolution whose output has `out` elements: crop at the start and at the end,
/// or, where the output is longer than the taps reach, elements to add at the end.
struct Crop {
  std::int64_t begin, end, extra;
};

Crop crop_to(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t out) {
  const std::int64_t total = (in - 1) * stride + kernel - out;
  if (total < 0) return {0, 0, -total};
  return {total / 2, total - total / 2, 0};
}

ir::ValueId emit_transposed(TfliteOperator& op, ir::ValueId x, std::size_t weights, ir::ValueId bias,
                            std::int64_t stride_h, std::int64_t stride_w, Crop h, Crop w) {
  ir::Attributes attributes{{"auto_pad", std::string("explicit")},
                            {"strides", std::vector<std::int64_t>{stride_h, stride_w}},
                            {"pads", std::vector<std::int64_t>{h.begin, w.begin, h.end, w.end}},
                            {"group", std::int64_t{1}}};
  if (h.extra != 0 || w.extra != 0)
    attributes.emplace("output_padding", std::vector<std::int64_t>{h.extra, w.extra});
  return op.emit("ConvTranspose", {x, op.transposed_input(weights, {3, 0, 1, 2}), bias},
                 std::move(attributes));
}

/// The output's size is an input; where it is computed, the tensor's own shape says it.
void translate_transpose_conv(TfliteOperator& op) {
  const auto& options = op.options<tflite::TransposeConvOptions>();
  check_positive(op, "stride", options.stride_h(), options.stride_w());
  const Shape in = op.input_shape(2), w = weight_shape(op, 1);
  Shape out = tflite_shape(op.output_tensor(0));
  if (op.constant(0) != nullptr) out = op.integers(0);
  if (in.size() != 4 || out.size() != 4) op.invalid("input and output must have 4 dimensions");
  if (in[1] < 1 || in[2] < 1 || out[1] < 1 || out[2] < 1) op.unsupported("height and width must be known");
  const ir::ValueId x = op.planar_input(2);
  const ir::ValueId y = emit_transposed(op, x, 1, bias_input(op, 3, 2, 1), options.stride_h(),
                                        options.stride_w(), crop_to(in[1], w[1], options.stride_h(), out[1]),
                                        crop_to(in[2], w[2], options.stride_w(), out[2]));
  op.finish_planar(op.activate(y, options.fused_activation_function()));
}

/// MediaPipe's operator. Options: three int32, little-endian: padding (1 SAME, 2 VALID), stride width, stride
/// height.
void translate_transpose_conv_bias(TfliteOperator& op) {
  const auto bytes = op.custom_options();
  if (bytes.size() < 12) op.invalid(fmt::format("has {} bytes of options, expected 12", bytes.size()));
  std::int32_t fields[3];
  std::memcpy(fields, bytes.data(), sizeof fields);
  const auto [padding, stride_w, stride_h] = fields;
  if (padding != 1 && padding != 2)
    op.invalid(fmt::format("padding is {}, expected 1 (SAME) or 2 (VALID)", padding));
  check_positive(op, "stride", stride_h, stride_w);
  const Shape in = op.input_shape(0), w = weight_shape(op, 1);
  if (in.size() != 4) op.invalid("input has shape " + shape_string(in) + ", expected 4 dimensions");
  if (in[1] < 1 || in[2] < 1) op.unsupported("height and width must be known");
  const auto crop = [&](std::int64_t n, std::int64_t kernel, std::int64_t stride) -> Crop {
    if (padding == 2) return {0, 0, 0};
    const std::int64_t total = std::max<std::int64_t>(0, kernel - (n - 1) % stride - 1);
    return {total / 2, total - total / 2, 0};
  };
  const ir::ValueId x = op.planar_input(0);
  op.finish_planar(emit_transposed(op, x, 1, bias_input(op, 2, 0, 1), stride_h, stride_w,
                                   crop(in[1], w[1], stride_h), crop(in[2], w[2], stride_w)));
}

void translate_fully_connected(TfliteOperator& op) {
  const auto& options = op.options<tflite::FullyConnectedOptions>();
  if (options.weights_format() != 0) op.unsupported("shuffled weights are not supported");
  const Shape w = op.input_shape(1);
  if (w.size() != 2) op.invalid("weights have shape " + shape_string(w) + ", expected 2 dimensions");
  ir::ValueId y;
  if (options.keep_num_dims()) {
    const ir::ValueId x = op.input(0);
    y = op.emit("MatMul", {x, op.transposed_input(1, {1, 0})});
    if (op.has_input(2)) y = op.emit("Add", {y, bias_input(op, 2, 0, 1)});
  } else {
    ir::ValueId x = op.input(0);
    if (op.rank(0) != 2)
      x = op.emit("Reshape", {x, op.integers_constant({-1, w[1]})}, {{"allowzero", std::int64_t{0}}});
    y = op.emit("Gemm", {x, op.input(1), bias_input(op, 2, 0, 1)},
                {{"alpha", 1.0f}, {"beta", 1.0f}, {"transA", std::int64_t{0}}, {"transB", std::int64_t{1}}});
  }
  op.finish(op.activate(y, options.fused_activation_function()));
}

void translate_batch_matmul(TfliteOperator& op) {
  const auto& options = op.options<tflite::BatchMatMulOptions>();
  const auto operand = [&](std::size_t i, bool adjoint) {
    const ir::ValueId x = op.input(i);
    if (!adjoint) return x;
    const std::size_t rank = op.rank(i);
    if (rank < 2) op.invalid("operands need at least 2 dimensions");
    std::vector<std::int64_t> perm(rank);
    for (std::size_t k = 0; k < rank; ++k) perm[k] = static_cast<std::int64_t>(k);
    std::swap(perm[rank - 1], perm[rank - 2]);
    return op.emit("Transpose", {x}, {{"perm", perm}});
  };
  const ir::ValueId a = operand(0, options.adj_x());
  op.finish(op.emit("MatMul", {a, operand(1, options.adj_y())}));
}

constexpr TfliteTranslation kTranslations[] = {
    {Code::BATCH_MATMUL, translate_batch_matmul},        {Code::CONV_2D, translate_conv},
    {Code::DEPTHWISE_CONV_2D, translate_depthwise_conv}, {Code::FULLY_CONNECTED, translate_fully_connected},
    {Code::TRANSPOSE_CONV, translate_transpose_conv},
};

constexpr TfliteCustomTranslation kCustomTranslations[] = {
    {"Convolution2DTransposeBias", translate_transpose_conv_bias},
};

}  // namespace

std::span<const TfliteTranslation> tflite_conv_translations() { return kTranslations; }
std::span<const TfliteCustomTranslation> tflite_custom_conv_translations() { return kCustomTranslations; }

}  // namespace saccade::import
