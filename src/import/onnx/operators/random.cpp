// Random numbers. Where a node names no seed its output's name stands for one, so that a model gives the same
// numbers in every run, and nodes different ones.
#include <bit>

#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

std::int64_t seed_of(OnnxOperator& op) {
  if (op.has("seed")) return static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(op.real("seed", 0)));
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : op.label()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<std::int64_t>(hash);
}

/// The attribute `dtype`, or that of the input, or float.
DType wanted_type(OnnxOperator& op) {
  const DType otherwise = op.input_count() > 0 ? op.dtype(op.input(0)) : DType::f32;
  const std::int64_t number = op.integer("dtype", 0);
  if (number == 0) return otherwise;
  const std::optional<DType> dtype =
      number > 0 && number < 1000 ? onnx_dtype(static_cast<std::int32_t>(number)) : std::nullopt;
  if (!dtype) op.unsupported("a result of element type " + std::to_string(number) + " is not supported");
  return *dtype;
}

ir::Attributes drawing(OnnxOperator& op, DType dtype, std::string_view first, float first_default,
                       std::string_view second, float second_default) {
  return {{std::string(first), op.real(first, first_default)},
          {std::string(second), op.real(second, second_default)},
          {"seed", seed_of(op)},
          {"dtype", std::string(dtype_name(dtype))}};
}

ir::ValueId wanted_shape(OnnxOperator& op) {
  if (op.input_count() > 0) return op.emit("Shape", {op.input(0)});
  return op.integers_constant(op.required_integers("shape"));
}

void translate_uniform(OnnxOperator& op) {
  op.finish("RandomUniform", {wanted_shape(op)}, drawing(op, wanted_type(op), "low", 0, "high", 1));
}

void translate_normal(OnnxOperator& op) {
  op.finish("RandomNormal", {wanted_shape(op)}, drawing(op, wanted_type(op), "mean", 0, "scale", 1));
}

/// 1 where an evenly distributed number lies below the probability. (The function body in ONNX's text
/// compares the other way round, which is the probability of 0.)
void translate_bernoulli(OnnxOperator& op) {
  const DType wanted = wanted_type(op);
  ir::ValueId probability = op.input(0);
  DType drawn = op.dtype(probability);
  if (drawn != DType::f64 && drawn != DType::f32) {
    drawn = DType::f32;
    probability = op.emit("Cast", {probability}, {{"to", std::string("float32")}});
  }
  const ir::ValueId number = op.emit("RandomUniform", {wanted_shape(op)},
                                     {{"seed", seed_of(op)}, {"dtype", std::string(dtype_name(drawn))}});
  const ir::ValueId hit = op.emit("Less", {number, probability});
  op.finish("Cast", {hit}, {{"to", std::string(dtype_name(wanted))}});
}

constexpr OnnxTranslation kTranslations[] = {
    {"Bernoulli", translate_bernoulli, 15},   {"RandomNormal", translate_normal},
    {"RandomNormalLike", translate_normal},   {"RandomUniform", translate_uniform},
    {"RandomUniformLike", translate_uniform},
};

}  // namespace

std::span<const OnnxTranslation> random_translations() { return kTranslations; }

}  // namespace saccade::import
