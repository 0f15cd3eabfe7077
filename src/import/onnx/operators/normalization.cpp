// Normalisation layers, quantisation and what training leaves behind.
#include <fmt/format.h>

#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

void translate_batch_normalization(OnnxOperator& op) {
  for (std::size_t i = 1; i < op.output_count(); ++i)
    if (op.wants_output(i))
      op.unsupported(
          "training outputs of BatchNormalization are not supported; export the model for inference");
  if (op.integer("training_mode", 0) != 0)
    op.unsupported("training_mode=1 is not supported; export the model for inference");
  if (op.integer("spatial", 1) != 1)
    op.unsupported("spatial=0 (statistics for every pixel) is not supported");
  op.ignore("momentum");
  if (op.opset() < 7 && op.integer("is_test", 0) == 0) op.unsupported("is_test=0 is not supported");
  op.finish("BatchNormalization", op.inputs(), {{"epsilon", op.real("epsilon", 1e-5f)}});
}

void translate_instance_normalization(OnnxOperator& op) { translate_with(op, {{"epsilon", 1e-5f}}); }

void translate_layer_normalization(OnnxOperator& op) {
  op.ignore("stash_type");  // statistics are always computed in float32 or better
  translate_with(op, {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5f}});
}

/// Groups of channels become the channels of an InstanceNormalization.
void translate_group_normalization(OnnxOperator& op) {
  const ir::ValueId x = op.input(0), scale = op.input(1), bias = op.input(2);
  const std::int64_t groups = op.required_integer("num_groups");
  if (groups < 1 || groups > (std::int64_t{1} << 24))
    op.invalid(fmt::format("attribute 'num_groups' is {}", groups));
  op.ignore("stash_type");
  const ir::Attributes epsilon{{"epsilon", op.real("epsilon", 1e-5f)}};
  const ir::ValueId shape = op.emit("Shape", {x});
  const ir::ValueId grouped = op.emit("Reshape", {x, op.integers_constant({0, groups, -1})});
  if (op.opset() < 21) {  // one scale a group
    const ir::ValueId normal = op.emit("InstanceNormalization", {grouped, scale, bias}, epsilon);
    return op.finish("Reshape", {normal, shape});
  }
  const auto one_each = [&](double value) {
    return op.emit("Expand", {op.real_constant(op.dtype(x), value), op.integers_constant({groups})});
  };
  const ir::ValueId ones = one_each(1), zeros = one_each(0);
  const ir::ValueId normal = op.emit("InstanceNormalization", {grouped, ones, zeros}, epsilon);
  // (N, groups, rest) → (N, channels, rest), so that a column of `channels` values broadcasts.
  const ir::ValueId channels = op.emit("Shape", {scale});
  const ir::ValueId target =
      op.emit("Concat", {op.integers_constant({0}), channels, op.integers_constant({-1})},
              {{"axis", std::int64_t{0}}});
  const ir::ValueId by_channel = op.emit("Reshape", {normal, target});
  const ir::ValueId column = op.integers_constant({-1, 1});
  const ir::ValueId scaled = op.emit("Mul", {by_channel, op.emit("Reshape", {scale, column})});
  const ir::ValueId shifted = op.emit("Add", {scaled, op.emit("Reshape", {bias, column})});
  op.finish("Reshape", {shifted, shape});
}

void translate_lrn(OnnxOperator& op) {
  ir::Attributes attributes{{"size", op.required_integer("size")},
                            {"alpha", op.real("alpha", 1e-4f)},
                            {"beta", op.real("beta", 0.75f)},
                            {"bias", op.real("bias", 1.0f)}};
  op.finish("LRN", {op.input(0)}, std::move(attributes));
}

void translate_lp_normalization(OnnxOperator& op) {
  translate_with(op, {{"axis", std::int64_t{-1}}, {"p", std::int64_t{2}}});
}

/// (x - mean) / (deviation + 1e-9) over `axes`.
void translate_mean_variance_normalization(OnnxOperator& op) {
  const ir::ValueId x = op.input(0);
  const ir::ValueId axes =
      op.integers_constant(op.has("axes") ? op.integers("axes") : std::vector<std::int64_t>{0, 2, 3});
  const ir::Attributes keep{{"keepdims", std::int64_t{1}}};
  const ir::ValueId centred = op.emit("Sub", {x, op.emit("ReduceMean", {x, axes}, keep)});
  const ir::ValueId variance = op.emit("ReduceMean", {op.emit("Mul", {centred, centred}), axes}, keep);
  const ir::ValueId deviation =
      op.emit("Add", {op.emit("Sqrt", {variance}), op.real_constant(op.dtype(x), 1e-9)});
  op.finish("Div", {centred, deviation});
}

/// Nothing is dropped at inference; the mask, where asked for, is all true.
void translate_dropout(OnnxOperator& op) {
  op.ignore("ratio");
  if (op.opset() < 7) op.ignore("is_test");
  op.ignore("seed");
  const Tensor* training = op.constant(2);
  if (op.has_input(2) && (training == nullptr || to_doubles(*training) != std::vector<double>{0}))
    op.unsupported("Dropout in training mode is not supported; export the model for inference");
  if (!op.wants_output(1)) return op.finish_values({op.input(0)});
  const ir::ValueId all = op.emit("ConstantOfShape", {op.emit("Shape", {op.input(0)})},
                                  {{"value", Tensor::of<bool>({1}, {true})}});
  op.finish_values({op.input(0), all});
}

std::int32_t element_type(OnnxOperator& op, const char* attribute) {
  const std::int64_t type = op.integer(attribute, 0);
  const auto number = static_cast<std::int32_t>(type >= 0 && type < 1000 ? type : -1);
  if (number != 0 && !onnx_dtype(number)) op.unsupported(onnx_dtype_name(number) + " is not supported");
  return number;
}

void translate_dequantize(OnnxOperator& op) {
  ir::Attributes attributes{{"axis", op.integer("axis", 1)}, {"block_size", op.integer("block_size", 0)}};
  const std::int32_t type = element_type(op, "output_dtype");
  if (type == 0) return op.finish("DequantizeLinear", op.inputs(), std::move(attributes));
  // The type of the result, where it is not the scale's.
  const ir::ValueId value = op.emit("DequantizeLinear", op.inputs(), std::move(attributes));
  op.finish("Cast", {value}, {{"to", std::string(dtype_name(*onnx_dtype(type)))}});
}

void translate_quantize(OnnxOperator& op) {
  op.ignore("saturate");   // concerns 8-bit floats only
  op.ignore("precision");  // quotients are always float32
  const std::int32_t type = element_type(op, "output_dtype");
  const bool four_bits = op.has_input(2) ? op.holds_four_bits(op.input(2)) : is_four_bit(type);
  ir::Attributes attributes{{"axis", op.integer("axis", 1)},
                            {"block_size", op.integer("block_size", 0)},
                            {"bits", std::int64_t{four_bits ? 4 : 8}}};
  std::vector<ir::ValueId> inputs = op.inputs();
  if (type != 0 && !op.has_input(2))  // a zero point tells the type
    inputs = {op.input(0), op.input(1),
              op.emit("Cast", {op.emit("Mul", {op.input(1), op.real_constant(op.dtype(op.input(1)), 0)})},
                      {{"to", std::string(dtype_name(*onnx_dtype(type)))}})};
  op.finish("QuantizeLinear", std::move(inputs), std::move(attributes));
  if (four_bits) op.mark_four_bits();
}

void translate_rms_normalization(OnnxOperator& op) {
  op.ignore("stash_type");  // the mean square is always computed in float32 or better
  translate_with(op, {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5f}});
}

constexpr OnnxTranslation kTranslations[] = {
    {"BatchNormalization", translate_batch_normalization},
    {"DequantizeLinear", translate_dequantize, 10},
    {"Dropout", translate_dropout},
    {"DynamicQuantizeLinear", translate_unchanged, 11},
    {"GroupNormalization", translate_group_normalization, 18},
    {"InstanceNormalization", translate_instance_normalization},
    {"LRN", translate_lrn},
    {"LayerNormalization", translate_layer_normalization, 17},
    {"LpNormalization", translate_lp_normalization},
    {"MeanVarianceNormalization", translate_mean_variance_normalization, 9},
    {"QuantizeLinear", translate_quantize, 10},
    {"RMSNormalization", translate_rms_normalization, 23},
};

}  // namespace

std::span<const OnnxTranslation> normalization_translations() { return kTranslations; }

}  // namespace saccade::import
