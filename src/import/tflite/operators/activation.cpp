// Activations and soft max.
#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

using Code = tflite::BuiltinOperator;

void unary(TfliteOperator& op, std::string_view name, ir::Attributes attributes = {}) {
  const bool planar = op.prefers_planar({0});
  op.finish(0, op.emit(name, {planar ? op.planar_input(0) : op.input(0)}, std::move(attributes)), planar);
}

void clip(TfliteOperator& op, double low, double high) {
  const bool planar = op.prefers_planar({0});
  const ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  const ir::ValueId least = op.real_constant(low, op.dtype(x));
  op.finish(0, op.emit("Clip", {x, least, op.real_constant(high, op.dtype(x))}), planar);
}

void translate_prelu(TfliteOperator& op) {
  const bool planar = op.prefers_planar();
  const ir::ValueId x = planar ? op.planar_operand(0) : op.input(0);
  op.finish(0, op.emit("PRelu", {x, planar ? op.planar_operand(1) : op.input(1)}), planar);
}

void translate_softmax(TfliteOperator& op) {
  const bool log = op.code() == Code::LOG_SOFTMAX;
  const bool planar = op.prefers_planar({0});
  ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  if (!log) {
    const float beta = op.options<tflite::SoftmaxOptions>().beta();
    if (beta != 1.0f) x = op.emit("Mul", {x, op.real_constant(static_cast<double>(beta))});
  }
  const std::int64_t axis = planar ? TfliteOperator::planar_axis(-1) : -1;
  op.finish(0, op.emit(log ? "LogSoftmax" : "Softmax", {x}, {{"axis", axis}}), planar);
}

void translate_gelu(TfliteOperator& op) {
  unary(op, "Gelu",
        {{"approximate", std::string(op.options<tflite::GeluOptions>().approximate() ? "tanh" : "none")}});
}

void translate_leaky_relu(TfliteOperator& op) {
  unary(op, "LeakyRelu", {{"alpha", op.options<tflite::LeakyReluOptions>().alpha()}});
}

constexpr TfliteTranslation kTranslations[] = {
    {Code::ELU,
     [](TfliteOperator& op) {
       unary(op, "Elu", {{"alpha", 1.0f}});
     }},
    {Code::GELU, translate_gelu},
    {Code::HARD_SWISH, [](TfliteOperator& op) { unary(op, "HardSwish"); }},
    {Code::LEAKY_RELU, translate_leaky_relu},
    {Code::LOGISTIC, [](TfliteOperator& op) { unary(op, "Sigmoid"); }},
    {Code::LOG_SOFTMAX, translate_softmax},
    {Code::PRELU, translate_prelu},
    {Code::RELU, [](TfliteOperator& op) { unary(op, "Relu"); }},
    {Code::RELU6, [](TfliteOperator& op) { clip(op, 0, 6); }},
    {Code::RELU_0_TO_1, [](TfliteOperator& op) { clip(op, 0, 1); }},
    {Code::RELU_N1_TO_1, [](TfliteOperator& op) { clip(op, -1, 1); }},
    {Code::SOFTMAX, translate_softmax},
    {Code::TANH, [](TfliteOperator& op) { unary(op, "Tanh"); }},
};

}  // namespace

std::span<const TfliteTranslation> tflite_activation_translations() { return kTranslations; }

}  // namespace saccade::import
