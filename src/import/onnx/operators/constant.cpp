// Constants.
#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

void translate_constant(OnnxOperator& op) {
  if (auto value = op.tensor("value")) return op.finish_constant(std::move(*value));
  if (op.has("value_float")) return op.finish_constant(Tensor::of<float>({}, {op.real("value_float", 0)}));
  if (op.has("value_int"))
    return op.finish_constant(Tensor::of<std::int64_t>({}, {op.integer("value_int", 0)}));
  if (op.has("value_floats")) {
    const std::vector<float> values = op.reals("value_floats");
    return op.finish_constant(
        Tensor::of<float>({static_cast<std::int64_t>(values.size())}, std::span<const float>(values)));
  }
  if (op.has("value_ints")) {
    const std::vector<std::int64_t> values = op.integers("value_ints");
    return op.finish_constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())},
                                                       std::span<const std::int64_t>(values)));
  }
  if (op.has("sparse_value")) op.unsupported("sparse constants are not supported");
  if (op.has("value_string") || op.has("value_strings"))
    op.unsupported("constants of strings are not supported");
  op.invalid("holds no value");
}

void translate_constant_of_shape(OnnxOperator& op) {
  std::optional<Tensor> value = op.tensor("value");
  if (value && value->count() != 1)
    op.invalid("attribute 'value' has shape " + shape_string(value->shape()) + ", expected one element");
  op.finish("ConstantOfShape", {op.input(0)}, {{"value", value ? *value : Tensor::zeros(DType::f32, {1})}});
}

constexpr OnnxTranslation kTranslations[] = {
    {"Constant", translate_constant},
    {"ConstantOfShape", translate_constant_of_shape, 9},
};

}  // namespace

std::span<const OnnxTranslation> constant_translations() { return kTranslations; }

}  // namespace saccade::import
