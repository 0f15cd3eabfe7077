// Activations, Clip, Softmax.
#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

void translate_clip(OnnxOperator& op) {
  if (op.opset() >= 11) return op.finish("Clip", op.inputs());
  // The bounds were attributes; their defaults are the ends of float32.
  const ir::ValueId x = op.input(0);
  const auto bound = [&](const char* name) {
    return op.has(name) ? op.real_constant(op.dtype(x), static_cast<double>(op.real(name, 0))) : ir::kNoValue;
  };
  const ir::ValueId low = bound("min");
  op.finish("Clip", {x, low, bound("max")});
}

/// Until operator set 12 the axes from `axis` on were one axis; from 13 on `axis` alone is meant.
void translate_softmax(OnnxOperator& op) {
  if (op.opset() >= 13) return op.finish(op.op(), op.inputs(), {{"axis", op.integer("axis", -1)}});
  const ir::ValueId x = op.input(0);
  const std::int64_t axis = op.integer("axis", 1);
  const ir::ValueId shape = op.emit("Shape", {x});
  const ir::ValueId matrix = op.emit("Flatten", {x}, {{"axis", axis}});
  const ir::ValueId result = op.emit(op.op(), {matrix}, {{"axis", std::int64_t{1}}});
  op.finish("Reshape", {result, shape});
}

void translate_leaky_relu(OnnxOperator& op) { translate_with(op, {{"alpha", 0.01f}}); }
void translate_alpha_one(OnnxOperator& op) { translate_with(op, {{"alpha", 1.0f}}); }
void translate_hard_sigmoid(OnnxOperator& op) { translate_with(op, {{"alpha", 0.2f}, {"beta", 0.5f}}); }
void translate_gelu(OnnxOperator& op) { translate_with(op, {{"approximate", "none"}}); }
void translate_shrink(OnnxOperator& op) { translate_with(op, {{"bias", 0.0f}, {"lambd", 0.5f}}); }

void translate_selu(OnnxOperator& op) {
  translate_with(op, {{"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}});
}

void translate_swish(OnnxOperator& op) {
  const float alpha = op.real("alpha", 1.0f);
  const ir::ValueId x = op.input(0);
  if (alpha == 1.0f) return op.finish("Silu", {x});
  const ir::ValueId scaled = op.emit("Mul", {x, op.real_constant(op.dtype(x), static_cast<double>(alpha))});
  op.finish("Mul", {x, op.emit("Sigmoid", {scaled})});
}

/// Until operator set 6, a slope was one number or one for each channel.
void translate_prelu(OnnxOperator& op) {
  if (op.opset() >= 7) return translate_unchanged(op);
  op.finish("PRelu", {op.input(0), align_at_axis(op, op.input(0), op.input(1), 1)});
}

constexpr OnnxTranslation kTranslations[] = {
    {"Celu", translate_alpha_one, 12},
    {"Clip", translate_clip},
    {"Elu", translate_alpha_one},
    {"Gelu", translate_gelu, 20},
    {"HardSigmoid", translate_hard_sigmoid},
    {"Hardmax", translate_softmax},
    {"HardSwish", translate_unchanged, 14},
    {"LeakyRelu", translate_leaky_relu},
    {"LogSoftmax", translate_softmax},
    {"Mish", translate_unchanged, 18},
    {"PRelu", translate_prelu},
    {"Relu", translate_unchanged},
    {"Selu", translate_selu},
    {"Shrink", translate_shrink, 9},
    {"Sigmoid", translate_unchanged},
    {"Softmax", translate_softmax},
    {"Softplus", translate_unchanged},
    {"Softsign", translate_unchanged},
    {"Swish", translate_swish, 24},
    {"Tanh", translate_unchanged},
    {"ThresholdedRelu", translate_alpha_one, 10},
};

}  // namespace

std::span<const OnnxTranslation> activation_translations() { return kTranslations; }

}  // namespace saccade::import
