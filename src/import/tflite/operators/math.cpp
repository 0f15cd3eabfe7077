// Arithmetic, comparison and logic.
#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

using Code = tflite::BuiltinOperator;

void unary(TfliteOperator& op, std::string_view name) {
  const bool planar = op.prefers_planar({0});
  op.finish(0, op.emit(name, {planar ? op.planar_input(0) : op.input(0)}), planar);
}

/// Both operands in one form; the result is in the same.
struct Operands {
  bool planar;
  ir::ValueId a, b;
};

Operands operands(TfliteOperator& op) {
  const bool planar = op.prefers_planar();
  const ir::ValueId a = planar ? op.planar_operand(0) : op.input(0);
  return {planar, a, planar ? op.planar_operand(1) : op.input(1)};
}

void binary(TfliteOperator& op, std::string_view name,
            tflite::Activation activation = tflite::Activation::NONE) {
  const Operands x = operands(op);
  op.finish(0, op.activate(op.emit(name, {x.a, x.b}), activation), x.planar);
}

template <class Options>
void arithmetic(TfliteOperator& op, std::string_view name) {
  binary(op, name, op.options<Options>().fused_activation_function());
}

void translate_not_equal(TfliteOperator& op) {
  const Operands x = operands(op);
  op.finish(0, op.emit("Not", {op.emit("Equal", {x.a, x.b})}), x.planar);
}

void translate_squared_difference(TfliteOperator& op) {
  const Operands x = operands(op);
  op.finish(0, op.emit("Square", {op.emit("Sub", {x.a, x.b})}), x.planar);
}

void translate_floor_div(TfliteOperator& op) {
  if (op.output_dtype(0) != DType::f32) op.unsupported("FLOOR_DIV of integers is not supported");
  const Operands x = operands(op);
  op.finish(0, op.emit("Floor", {op.emit("Div", {x.a, x.b})}), x.planar);
}

/// The remainder has the divisor's sign: a - floor(a / b) * b.
void translate_floor_mod(TfliteOperator& op) {
  const Operands x = operands(op);
  if (op.output_dtype(0) != DType::f32)
    return op.finish(0, op.emit("Mod", {x.a, x.b}, {{"fmod", std::int64_t{0}}}), x.planar);
  const ir::ValueId whole = op.emit("Floor", {op.emit("Div", {x.a, x.b})});
  op.finish(0, op.emit("Sub", {x.a, op.emit("Mul", {whole, x.b})}), x.planar);
}

void translate_add_n(TfliteOperator& op) {
  const bool planar = op.prefers_planar();
  const auto operand = [&](std::size_t i) { return planar ? op.planar_operand(i) : op.input(i); };
  ir::ValueId sum = operand(0);
  for (std::size_t i = 1; i < op.input_count(); ++i) sum = op.emit("Add", {sum, operand(i)});
  op.finish(0, sum, planar);
}

void translate_select(TfliteOperator& op) {
  if (op.code() == Code::SELECT && op.rank(0) != op.rank(1) && op.rank(0) > 0)
    op.unsupported("SELECT by a condition of fewer dimensions is not supported");
  const bool planar = op.prefers_planar();
  const auto operand = [&](std::size_t i) { return planar ? op.planar_operand(i) : op.input(i); };
  const ir::ValueId condition = operand(0), yes = operand(1);
  op.finish(0, op.emit("Where", {condition, yes, operand(2)}), planar);
}

/// DEQUANTIZE of half-precision weights; integers are real numbers here from where they are made or read.
void translate_dequantize(TfliteOperator& op) {
  const Tensor* data = op.constant(0);
  if (data != nullptr && data->bytes() < kLargeConstant)
    return op.finish_constant(cast_tensor(*data, DType::f32));
  const bool planar = op.prefers_planar({0});
  const ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  const DType from = op.dtype(x);
  if (from != DType::f16 && from != DType::bf16 && from != DType::f32)
    op.unsupported(std::string("DEQUANTIZE of ") + dtype_name(from) + " without a scale is not supported");
  if (from == DType::f32) return op.finish(0, op.emit("Identity", {x}), planar);
  op.finish(0, op.emit("Cast", {x}, {{"to", std::string(dtype_name(DType::f32))}}), planar);
}

/// QUANTIZE of real numbers, or of integers with another scale: the result is rounded as any quantised one
/// is.
void translate_quantize(TfliteOperator& op) {
  if (!is_quantised_activation(op.output_tensor(0))) op.unsupported("the result has no single scale");
  unary(op, "Identity");
}

/// DENSIFY of a sparse constant, which was made dense when it was read. Where it holds integers, they stand
/// for real numbers already.
void translate_densify(TfliteOperator& op) {
  if (const Tensor* data = op.constant(0)) return op.finish_constant(*data);
  if (!op.stored(0)) op.unsupported("DENSIFY of a tensor that is not constant is not supported");
  op.finish(0, op.emit("Identity", {op.input(0)}));
}

constexpr TfliteTranslation kTranslations[] = {
    {Code::ABS, [](TfliteOperator& op) { unary(op, "Abs"); }},
    {Code::ADD, [](TfliteOperator& op) { arithmetic<tflite::AddOptions>(op, "Add"); }},
    {Code::ADD_N, translate_add_n},
    {Code::CEIL, [](TfliteOperator& op) { unary(op, "Ceil"); }},
    {Code::COS, [](TfliteOperator& op) { unary(op, "Cos"); }},
    {Code::DENSIFY, translate_densify},
    {Code::DEQUANTIZE, translate_dequantize},
    {Code::DIV, [](TfliteOperator& op) { arithmetic<tflite::DivOptions>(op, "Div"); }},
    {Code::EQUAL, [](TfliteOperator& op) { binary(op, "Equal"); }},
    {Code::EXP, [](TfliteOperator& op) { unary(op, "Exp"); }},
    {Code::FLOOR, [](TfliteOperator& op) { unary(op, "Floor"); }},
    {Code::FLOOR_DIV, translate_floor_div},
    {Code::FLOOR_MOD, translate_floor_mod},
    {Code::GREATER, [](TfliteOperator& op) { binary(op, "Greater"); }},
    {Code::GREATER_EQUAL, [](TfliteOperator& op) { binary(op, "GreaterOrEqual"); }},
    {Code::LESS, [](TfliteOperator& op) { binary(op, "Less"); }},
    {Code::LESS_EQUAL, [](TfliteOperator& op) { binary(op, "LessOrEqual"); }},
    {Code::LOG, [](TfliteOperator& op) { unary(op, "Log"); }},
    {Code::LOGICAL_AND, [](TfliteOperator& op) { binary(op, "And"); }},
    {Code::LOGICAL_NOT, [](TfliteOperator& op) { unary(op, "Not"); }},
    {Code::LOGICAL_OR, [](TfliteOperator& op) { binary(op, "Or"); }},
    {Code::MAXIMUM, [](TfliteOperator& op) { binary(op, "Max"); }},
    {Code::MINIMUM, [](TfliteOperator& op) { binary(op, "Min"); }},
    {Code::MUL, [](TfliteOperator& op) { arithmetic<tflite::MulOptions>(op, "Mul"); }},
    {Code::NEG, [](TfliteOperator& op) { unary(op, "Neg"); }},
    {Code::NOT_EQUAL, translate_not_equal},
    {Code::POW, [](TfliteOperator& op) { binary(op, "Pow"); }},
    {Code::QUANTIZE, translate_quantize},
    {Code::ROUND, [](TfliteOperator& op) { unary(op, "Round"); }},
    {Code::RSQRT, [](TfliteOperator& op) { unary(op, "Rsqrt"); }},
    {Code::SELECT, translate_select},
    {Code::SELECT_V2, translate_select},
    {Code::SIGN, [](TfliteOperator& op) { unary(op, "Sign"); }},
    {Code::SIN, [](TfliteOperator& op) { unary(op, "Sin"); }},
    {Code::SQRT, [](TfliteOperator& op) { unary(op, "Sqrt"); }},
    {Code::SQUARE, [](TfliteOperator& op) { unary(op, "Square"); }},
    {Code::SQUARED_DIFFERENCE, translate_squared_difference},
    {Code::SUB, [](TfliteOperator& op) { arithmetic<tflite::SubOptions>(op, "Sub"); }},
};

}  // namespace

std::span<const TfliteTranslation> tflite_math_translations() { return kTranslations; }

}  // namespace saccade::import
