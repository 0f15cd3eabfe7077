// Operators of the domain com.microsoft that onnxruntime.quantization writes: each computes with the real
// numbers that its quantised inputs stand for, and quantises the result.
#include <fmt/format.h>

#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

/// The real numbers of a tensor that is followed by its scale and zero point.
ir::ValueId real_input(OnnxOperator& op, std::size_t i) {
  std::vector<ir::ValueId> inputs = {op.input(i), op.input(i + 1)};
  if (op.has_input(i + 2)) inputs.push_back(op.input(i + 2));
  return op.emit("DequantizeLinear", std::move(inputs));
}

/// Quantises `real` by the scale and zero point at inputs `i` and `i + 1`, in the dtype of input `like`.
void finish_quantised(OnnxOperator& op, ir::ValueId real, std::size_t i, std::size_t like) {
  ir::ValueId zero = op.optional_input(i + 1);
  if (zero == ir::kNoValue)
    zero = op.tensor_constant(cast_tensor(Tensor::of<float>({}, {0}), op.dtype(op.input(like))));
  op.finish("QuantizeLinear", {real, op.input(i), zero});
}

void binary(OnnxOperator& op, std::string_view name) {
  const ir::ValueId a = real_input(op, 0);
  finish_quantised(op, op.emit(name, {a, real_input(op, 3)}), 6, 0);
}

void unary(OnnxOperator& op, std::string_view name, ir::Attributes attributes = {}) {
  finish_quantised(op, op.emit(name, {real_input(op, 0)}, std::move(attributes)), 3, 0);
}

/// Scale and zero point of the result, then a tensor with both for each part.
void translate_concat(OnnxOperator& op) {
  if (op.input_count() < 5 || (op.input_count() - 2) % 3 != 0)
    op.invalid(fmt::format("has {} inputs, expected 2 and 3 for each part", op.input_count()));
  std::vector<ir::ValueId> parts;
  for (std::size_t i = 2; i < op.input_count(); i += 3) parts.push_back(real_input(op, i));
  const ir::ValueId y = op.emit("Concat", std::move(parts), {{"axis", op.required_integer("axis")}});
  finish_quantised(op, y, 0, 2);
}

void translate_global_average_pool(OnnxOperator& op) {
  const bool last = op.integer("channels_last", 0) != 0;
  if (last) op.unsupported("channels_last=1 is not supported");
  unary(op, "GlobalAveragePool");
}

void translate_average_pool(OnnxOperator& op) {
  if (op.integer("channels_last", 0) != 0) op.unsupported("channels_last=1 is not supported");
  ir::Attributes attributes{{"kernel_shape", op.required_integers("kernel_shape")},
                            {"ceil_mode", op.integer("ceil_mode", 0)},
                            {"count_include_pad", op.integer("count_include_pad", 0)}};
  const std::string auto_pad = op.text("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET") op.unsupported("auto_pad is not supported");
  if (op.has("pads")) attributes.emplace("pads", op.integers("pads"));
  if (op.has("strides")) attributes.emplace("strides", op.integers("strides"));
  unary(op, "AveragePool", std::move(attributes));
}

void translate_softmax(OnnxOperator& op) {
  if (op.integer("opset", 13) < 13) op.unsupported("a soft max over several axes at once is not supported");
  unary(op, "Softmax", {{"axis", op.integer("axis", -1)}});
}

constexpr OnnxTranslation kMicrosoftTranslations[] = {
    {"QLinearAdd", [](OnnxOperator& op) { binary(op, "Add"); }},
    {"QLinearAveragePool", translate_average_pool},
    {"QLinearConcat", translate_concat},
    {"QLinearGlobalAveragePool", translate_global_average_pool},
    {"QLinearLeakyRelu",
     [](OnnxOperator& op) {
       unary(op, "LeakyRelu", {{"alpha", op.real("alpha", 0.01f)}});
     }},
    {"QLinearMul", [](OnnxOperator& op) { binary(op, "Mul"); }},
    {"QLinearSigmoid", [](OnnxOperator& op) { unary(op, "Sigmoid"); }},
    {"QLinearSoftmax", translate_softmax},
};

}  // namespace

std::span<const OnnxTranslation> microsoft_translations() { return kMicrosoftTranslations; }

}  // namespace saccade::import
