// Operators that change shape or type and leave the elements alone.
#include <fmt/format.h>

#include <algorithm>

#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

void translate_shape(OnnxOperator& op) {
  ir::Attributes attributes;
  if (op.has("start")) attributes.emplace("start", op.integer("start", 0));
  if (op.has("end")) attributes.emplace("end", op.integer("end", 0));
  op.finish("Shape", {op.input(0)}, std::move(attributes));
}

void translate_reshape(OnnxOperator& op) { translate_with(op, {{"allowzero", std::int64_t{0}}}); }
void translate_flatten(OnnxOperator& op) { translate_with(op, {{"axis", std::int64_t{1}}}); }

void translate_transpose(OnnxOperator& op) {
  ir::Attributes attributes;
  if (op.has("perm")) attributes.emplace("perm", op.integers("perm"));
  op.finish("Transpose", {op.input(0)}, std::move(attributes));
}

/// Squeeze and Unsqueeze: `axes` was an attribute until operator set 12.
void translate_axes(OnnxOperator& op) {
  if (op.opset() >= 13) return op.finish(op.op(), {op.input(0), op.optional_input(1)});
  ir::ValueId axes = ir::kNoValue;
  if (op.has("axes")) axes = op.integers_constant(op.integers("axes"));
  if (axes == ir::kNoValue && op.op() == "Unsqueeze") op.invalid("attribute 'axes' is missing");
  op.finish(op.op(), {op.input(0), axes});
}

void translate_concat(OnnxOperator& op) {
  const std::int64_t axis = op.required_integer("axis");
  if (op.input_count() == 0) op.invalid("has no inputs");
  op.finish("Concat", op.inputs(), {{"axis", axis}});
}

void translate_split(OnnxOperator& op) {
  if (op.opset() < 2 && op.has_input(1))
    op.unsupported("sizes as an input are not supported in operator set 1");
  ir::Attributes attributes{{"axis", op.integer("axis", 0)}};
  ir::ValueId sizes = ir::kNoValue;
  if (op.opset() >= 13)
    sizes = op.optional_input(1);
  else if (op.has("split"))
    sizes = op.integers_constant(op.integers("split"));
  const auto outputs = static_cast<std::int64_t>(op.output_count());
  if (sizes == ir::kNoValue) {
    const std::int64_t parts = op.integer("num_outputs", outputs);
    if (parts != outputs)
      op.invalid(fmt::format("attribute 'num_outputs' is {}, the node has {} outputs", parts, outputs));
    attributes.emplace("num_outputs", parts);
  } else {
    op.ignore("num_outputs");
  }
  op.finish("Split", {op.input(0), sizes}, std::move(attributes), op.output_count());
}

void translate_slice(OnnxOperator& op) {
  if (op.opset() >= 10) return op.finish("Slice", op.inputs());
  const std::vector<std::int64_t> starts = op.required_integers("starts"),
                                  ends = op.required_integers("ends");
  const ir::ValueId from = op.integers_constant(starts), to = op.integers_constant(ends);
  const ir::ValueId axes = op.has("axes") ? op.integers_constant(op.integers("axes")) : ir::kNoValue;
  op.finish("Slice", {op.input(0), from, to, axes});
}

void translate_pad(OnnxOperator& op) {
  const ir::Attributes mode{{"mode", op.text("mode", "constant")}};
  if (op.opset() >= 11) return op.finish("Pad", op.inputs(), mode);
  const ir::ValueId pads = op.integers_constant(op.required_integers("pads"));
  op.finish(
      "Pad",
      {op.input(0), pads, op.real_constant(op.dtype(op.input(0)), static_cast<double>(op.real("value", 0)))},
      mode);
}

void translate_center_crop_pad(OnnxOperator& op) {
  ir::Attributes attributes;
  if (op.has("axes")) attributes.emplace("axes", op.integers("axes"));
  op.finish("CenterCropPad", op.inputs(), std::move(attributes));
}

/// Four-bit integers are kept in eight bits: a cast to them wraps around.
void finish_cast(OnnxOperator& op, DType to, bool four_bits) {
  ir::Attributes attributes{{"to", std::string(dtype_name(to))}};
  if (!four_bits) return op.finish("Cast", {op.input(0)}, std::move(attributes));
  const ir::ValueId whole = op.emit("Cast", {op.input(0)}, {{"to", std::string("int32")}});
  const ir::ValueId wide = op.emit("Cast", {whole}, std::move(attributes));
  op.finish("WrapBits", {wide}, {{"bits", std::int64_t{4}}});
  op.mark_four_bits();
}

void translate_cast(OnnxOperator& op) {
  op.ignore("saturate");    // concerns 8-bit floats only, as does
  op.ignore("round_mode");  // this
  if (op.op() == "CastLike") return finish_cast(op, op.dtype(op.input(1)), op.holds_four_bits(op.input(1)));
  const std::int64_t number = op.required_integer("to");
  const auto to = static_cast<std::int32_t>(number >= 0 && number < 1000 ? number : 0);
  const std::optional<DType> dtype = onnx_dtype(to);
  if (!dtype) op.unsupported("a cast to " + onnx_dtype_name(to) + " is not supported");
  if (op.op() == "Cast") return finish_cast(op, *dtype, is_four_bit(to));
  if (is_four_bit(to) != op.holds_four_bits(op.input(0))) op.invalid("the types differ in width");
  op.finish("BitCast", {op.input(0)}, {{"to", std::string(dtype_name(*dtype))}});
}

void translate_depth_to_space(OnnxOperator& op) {
  const std::string mode = op.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") op.invalid("attribute 'mode' is '" + mode + "', expected DCR or CRD");
  op.finish("DepthToSpace", {op.input(0)},
            {{"blocksize", op.required_integer("blocksize")},
             {"mode", std::string(mode == "DCR" ? "dcr" : "crd")}});
}

void translate_space_to_depth(OnnxOperator& op) {
  if (op.text("mode", "DCR") != "DCR") op.unsupported("SpaceToDepth knows mode DCR only");
  op.finish("SpaceToDepth", {op.input(0)}, {{"blocksize", op.required_integer("blocksize")}});
}

constexpr OnnxTranslation kTranslations[] = {
    {"BitCast", translate_cast, 26},
    {"Cast", translate_cast},
    {"CastLike", translate_cast, 15},
    {"CenterCropPad", translate_center_crop_pad, 18},
    {"Concat", translate_concat},
    {"DepthToSpace", translate_depth_to_space},
    {"Expand", translate_unchanged, 8},
    {"Flatten", translate_flatten},
    {"Identity", translate_unchanged},
    {"Pad", translate_pad},
    {"Reshape", translate_reshape},
    {"Shape", translate_shape},
    {"Size", translate_unchanged},
    {"Slice", translate_slice},
    {"SpaceToDepth", translate_space_to_depth},
    {"Split", translate_split},
    {"Squeeze", translate_axes},
    {"Tile", translate_unchanged},
    {"Transpose", translate_transpose},
    {"Unsqueeze", translate_axes},
};

}  // namespace

std::span<const OnnxTranslation> shape_translations() { return kTranslations; }

}  // namespace saccade::import
