// Operators that change shape, order or type of what they get.
#include <fmt/format.h>

#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

using Code = tflite::BuiltinOperator;

std::int64_t normal_axis(TfliteOperator& op, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    op.invalid(fmt::format("axis {} is out of range for {} dimensions", axis, rank));
  return axis < 0 ? axis + count : axis;
}

void translate_concatenation(TfliteOperator& op) {
  const auto& options = op.options<tflite::ConcatenationOptions>();
  if (op.input_count() == 0) op.invalid("has no inputs");
  const std::size_t rank = op.rank(0);
  std::int64_t axis = normal_axis(op, options.axis(), rank);
  const bool planar = rank == 4 && op.prefers_planar();
  std::vector<ir::ValueId> inputs;
  for (std::size_t i = 0; i < op.input_count(); ++i)
    inputs.push_back(planar ? op.planar_input(i) : op.input(i));
  if (planar) axis = TfliteOperator::planar_axis(axis);
  const ir::ValueId y = op.emit("Concat", std::move(inputs), {{"axis", axis}});
  op.finish(0, op.activate(y, options.fused_activation_function()), planar);
}

void translate_reshape(TfliteOperator& op) {
  const ir::ValueId x = op.input(0);
  ir::ValueId shape;
  if (op.has_input(1)) {
    shape = op.int64_input(1);
  } else {
    const auto* listed = op.options<tflite::ReshapeOptions>().new_shape();
    if (listed == nullptr) op.invalid("has no new shape");
    shape = op.integers_constant(std::vector<std::int64_t>(listed->begin(), listed->end()));
  }
  op.finish(op.emit("Reshape", {x, shape}, {{"allowzero", std::int64_t{1}}}));
}

void translate_squeeze(TfliteOperator& op) {
  const auto* dims = op.options<tflite::SqueezeOptions>().squeeze_dims();
  const ir::ValueId x = op.input(0);
  if (dims == nullptr || dims->size() == 0) return op.finish(op.emit("Squeeze", {x}));
  op.finish(
      op.emit("Squeeze", {x, op.integers_constant(std::vector<std::int64_t>(dims->begin(), dims->end()))}));
}

void translate_expand_dims(TfliteOperator& op) {
  const ir::ValueId x = op.input(0);
  op.finish(op.emit("Unsqueeze", {x, op.integers_constant(op.integers(1))}));
}

void translate_transpose(TfliteOperator& op) {
  const std::vector<std::int64_t> perm = op.integers(1);
  if (perm.size() != op.rank(0))
    op.invalid(fmt::format("permutation has {} axes, the input has {}", perm.size(), op.rank(0)));
  op.finish(op.emit("Transpose", {op.input(0)}, {{"perm", perm}}));
}

/// TFLite lists (begin, end) by axis; the IR wants all begins, then all ends.
ir::ValueId pads_constant(TfliteOperator& op, bool planar) {
  const std::vector<std::int64_t> pairs = op.integers(1);
  const std::size_t rank = op.rank(0);
  if (pairs.size() != 2 * rank)
    op.invalid(fmt::format("has {} paddings for {} dimensions", pairs.size(), rank));
  std::vector<std::int64_t> pads(2 * rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto to =
        planar ? static_cast<std::size_t>(TfliteOperator::planar_axis(static_cast<std::int64_t>(i))) : i;
    pads[to] = pairs[2 * i];
    pads[rank + to] = pairs[2 * i + 1];
  }
  return op.integers_constant(pads);
}

void translate_pad(TfliteOperator& op) {
  const bool planar = op.prefers_planar({0});
  const ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  const ir::ValueId pads = pads_constant(op, planar);
  std::string mode = "constant";
  ir::ValueId value = ir::kNoValue;
  if (op.code() == Code::PADV2) {
    value = op.input(2);
    const Tensor* data = op.constant(2);
    if (data != nullptr && data->count() == 1) value = op.tensor_constant(data->reshaped({}));
  }
  if (op.code() == Code::MIRROR_PAD) {
    if (op.options<tflite::MirrorPadOptions>().mode() != tflite::MirrorPadMode::REFLECT)
      op.unsupported("MIRROR_PAD with mode SYMMETRIC is not supported");
    mode = "reflect";
  }
  op.finish(0, op.emit("Pad", {x, pads, value}, {{"mode", mode}}), planar);
}

void translate_cast(TfliteOperator& op) {
  const bool planar = op.prefers_planar({0});
  const ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  op.finish(0, op.emit("Cast", {x}, {{"to", std::string(dtype_name(op.output_dtype(0)))}}), planar);
}

void translate_shape(TfliteOperator& op) {
  ir::ValueId y = op.emit("Shape", {op.input(0)});
  if (op.output_dtype(0) != DType::i64)
    y = op.emit("Cast", {y}, {{"to", std::string(dtype_name(op.output_dtype(0)))}});
  op.finish(y);
}

void translate_depth_to_space(TfliteOperator& op) {
  const std::int64_t block = op.options<tflite::DepthToSpaceOptions>().block_size();
  op.finish_planar(
      op.emit("DepthToSpace", {op.planar_input(0)}, {{"blocksize", block}, {"mode", std::string("dcr")}}));
}

void translate_space_to_depth(TfliteOperator& op) {
  const std::int64_t block = op.options<tflite::SpaceToDepthOptions>().block_size();
  op.finish_planar(op.emit("SpaceToDepth", {op.planar_input(0)}, {{"blocksize", block}}));
}

void translate_pack(TfliteOperator& op) {
  const std::int64_t axis = op.options<tflite::PackOptions>().axis();
  const ir::ValueId axes = op.integers_constant({axis});
  std::vector<ir::ValueId> parts;
  for (std::size_t i = 0; i < op.input_count(); ++i)
    parts.push_back(op.emit("Unsqueeze", {op.input(i), axes}));
  if (parts.empty()) op.invalid("has no inputs");
  op.finish(op.emit("Concat", std::move(parts), {{"axis", axis}}));
}

void translate_unpack(TfliteOperator& op) {
  const std::int64_t axis = op.options<tflite::UnpackOptions>().axis();
  const ir::ValueId x = op.input(0), axes = op.integers_constant({axis});
  const auto count = static_cast<std::int64_t>(op.output_count());
  const auto parts = op.emit_many("Split", {x}, {{"axis", axis}, {"num_outputs", count}}, op.output_count());
  for (std::size_t i = 0; i < parts.size(); ++i) op.finish(i, op.emit("Squeeze", {parts[i], axes}));
}

void split(TfliteOperator& op, std::size_t data, std::size_t axis_input, ir::ValueId sizes) {
  const std::vector<std::int64_t> axes = op.integers(axis_input);
  if (axes.size() != 1) op.invalid(fmt::format("expected one axis, found {}", axes.size()));
  std::int64_t axis = normal_axis(op, axes[0], op.rank(data));
  const bool planar = op.prefers_planar({data});
  const ir::ValueId x = planar ? op.planar_input(data) : op.input(data);
  if (planar) axis = TfliteOperator::planar_axis(axis);
  ir::Attributes attributes{{"axis", axis}};
  if (sizes == ir::kNoValue) attributes.emplace("num_outputs", static_cast<std::int64_t>(op.output_count()));
  const auto parts = op.emit_many("Split", {x, sizes}, std::move(attributes), op.output_count());
  for (std::size_t i = 0; i < parts.size(); ++i) op.finish(i, parts[i], planar);
}

void translate_split(TfliteOperator& op) { split(op, 1, 0, ir::kNoValue); }

void translate_split_v(TfliteOperator& op) {
  std::vector<std::int64_t> sizes = op.integers(1);
  const std::vector<std::int64_t> axes = op.integers(2);
  if (axes.size() != 1) op.invalid(fmt::format("expected one axis, found {}", axes.size()));
  const std::int64_t whole =
      op.input_shape(0)[static_cast<std::size_t>(normal_axis(op, axes[0], op.rank(0)))];
  std::int64_t known = 0;
  for (const std::int64_t size : sizes) known += size > 0 ? size : 0;
  for (std::int64_t& size : sizes)
    if (size == -1) size = whole >= 0 ? whole - known : -1;
  split(op, 0, 2, op.integers_constant(sizes));
}

void translate_tile(TfliteOperator& op) {
  const ir::ValueId x = op.input(0);
  op.finish(op.emit("Tile", {x, op.int64_input(1)}));
}

void translate_broadcast_to(TfliteOperator& op) {
  const ir::ValueId x = op.input(0);
  op.finish(op.emit("Expand", {x, op.int64_input(1)}));
}

void translate_fill(TfliteOperator& op) {
  const ir::ValueId value = op.input(1);
  op.finish(op.emit("Expand", {value, op.int64_input(0)}));
}

constexpr TfliteTranslation kTranslations[] = {
    {Code::BROADCAST_TO, translate_broadcast_to},
    {Code::CAST, translate_cast},
    {Code::CONCATENATION, translate_concatenation},
    {Code::DEPTH_TO_SPACE, translate_depth_to_space},
    {Code::EXPAND_DIMS, translate_expand_dims},
    {Code::FILL, translate_fill},
    {Code::MIRROR_PAD, translate_pad},
    {Code::PACK, translate_pack},
    {Code::PAD, translate_pad},
    {Code::PADV2, translate_pad},
    {Code::RESHAPE, translate_reshape},
    {Code::SHAPE, translate_shape},
    {Code::SPACE_TO_DEPTH, translate_space_to_depth},
    {Code::SPLIT, translate_split},
    {Code::SPLIT_V, translate_split_v},
    {Code::SQUEEZE, translate_squeeze},
    {Code::TILE, translate_tile},
    {Code::TRANSPOSE, translate_transpose},
    {Code::UNPACK, translate_unpack},
};

}  // namespace

std::span<const TfliteTranslation> tflite_shape_translations() { return kTranslations; }

}  // namespace saccade::import
