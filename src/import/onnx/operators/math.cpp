// Arithmetic, comparison, logic and matrix products.
#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

/// Operands that broadcast; older files say how by attributes.
void translate_binary(OnnxOperator& op) {
  ir::ValueId b = op.input(1);
  if (op.opset() < 7) {
    op.ignore("broadcast");  // allows what is always allowed now
    if (op.has("axis")) b = align_at_axis(op, op.input(0), b, op.integer("axis", 0));
  }
  op.finish(op.op(), {op.input(0), b});
}

/// Variadic operators are chains of binary ones.
ir::ValueId fold_inputs(OnnxOperator& op, std::string_view binary, std::size_t upto) {
  ir::ValueId sum = op.input(0);
  for (std::size_t i = 1; i < upto; ++i) sum = op.emit(binary, {sum, op.input(i)});
  return sum;
}

void translate_variadic(OnnxOperator& op) {
  const std::string_view binary = op.op() == "Sum" ? "Add" : op.op();
  const std::size_t count = op.input_count();
  if (count <= 1) return op.finish_values({op.input(0)});
  const ir::ValueId first = fold_inputs(op, binary, count - 1);
  op.finish(binary, {first, op.input(count - 1)});
}

void translate_mean(OnnxOperator& op) {
  const std::size_t count = op.input_count();
  if (count <= 1) return op.finish_values({op.input(0)});
  const ir::ValueId sum = fold_inputs(op, "Add", count);
  op.finish("Div", {sum, op.real_constant(op.dtype(sum), static_cast<double>(count))});
}

void translate_mod(OnnxOperator& op) { translate_with(op, {{"fmod", std::int64_t{0}}}); }

void translate_is_inf(OnnxOperator& op) {
  translate_with(op, {{"detect_negative", std::int64_t{1}}, {"detect_positive", std::int64_t{1}}});
}

void translate_gemm(OnnxOperator& op) {
  if (op.opset() < 7) op.ignore("broadcast");
  translate_with(op,
                 {{"alpha", 1.0f}, {"beta", 1.0f}, {"transA", std::int64_t{0}}, {"transB", std::int64_t{0}}});
}

void translate_einsum(OnnxOperator& op) {
  if (!op.has("equation")) op.invalid("attribute 'equation' is missing");
  translate_with(op, {{"equation", ""}});
}

void translate_bit_shift(OnnxOperator& op) {
  const std::string direction = op.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    op.invalid("attribute 'direction' is '" + direction + "', expected LEFT or RIGHT");
  op.finish("BitShift", op.inputs(), {{"direction", std::string(direction == "LEFT" ? "left" : "right")}});
}

constexpr OnnxTranslation kTranslations[] = {
    {"Abs", translate_unchanged},
    {"Acos", translate_unchanged},
    {"Acosh", translate_unchanged, 9},
    {"Add", translate_binary},
    {"And", translate_binary},
    {"Asin", translate_unchanged},
    {"Asinh", translate_unchanged, 9},
    {"Atan", translate_unchanged},
    {"Atanh", translate_unchanged, 9},
    {"BitShift", translate_bit_shift, 11},
    {"BitwiseAnd", translate_unchanged, 18},
    {"BitwiseNot", translate_unchanged, 18},
    {"BitwiseOr", translate_unchanged, 18},
    {"BitwiseXor", translate_unchanged, 18},
    {"Ceil", translate_unchanged},
    {"Cos", translate_unchanged},
    {"Cosh", translate_unchanged, 9},
    {"Det", translate_unchanged, 11},
    {"Div", translate_binary},
    {"Einsum", translate_einsum, 12},
    {"Equal", translate_binary},
    {"Erf", translate_unchanged, 9},
    {"Exp", translate_unchanged},
    {"Floor", translate_unchanged},
    {"Gemm", translate_gemm},
    {"Greater", translate_binary},
    {"GreaterOrEqual", translate_unchanged, 12},
    {"IsInf", translate_is_inf, 10},
    {"IsNaN", translate_unchanged, 9},
    {"Less", translate_binary},
    {"LessOrEqual", translate_unchanged, 12},
    {"Log", translate_unchanged},
    {"MatMul", translate_unchanged},
    {"MatMulInteger", translate_unchanged, 10},
    {"Max", translate_variadic},
    {"Mean", translate_mean},
    {"Min", translate_variadic},
    {"Mod", translate_mod, 10},
    {"Mul", translate_binary},
    {"Neg", translate_unchanged},
    {"Not", translate_unchanged},
    {"Or", translate_binary},
    {"Pow", translate_binary},
    {"QLinearMatMul", translate_unchanged, 10},
    {"Reciprocal", translate_unchanged},
    {"Round", translate_unchanged, 11},
    {"Sign", translate_unchanged, 9},
    {"Sin", translate_unchanged},
    {"Sinh", translate_unchanged, 9},
    {"Sqrt", translate_unchanged},
    {"Sub", translate_binary},
    {"Sum", translate_variadic},
    {"Tan", translate_unchanged},
    {"Where", translate_unchanged, 9},
    {"Xor", translate_binary},
};

}  // namespace

std::span<const OnnxTranslation> math_translations() { return kTranslations; }

}  // namespace saccade::import
