// Operators that change shape, order or type of what they get.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

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
  if (op.code() == Code::MIRROR_PAD) mode = "reflect";
  op.finish(0, op.emit("Pad", {x, pads, value}, {{"mode", mode}}), planar);
}

/// Mirrors along one axis, the edge itself included: pieces of the reversed tensor on both sides.
ir::ValueId mirrored(TfliteOperator& op, ir::ValueId x, std::int64_t axis, std::int64_t begin,
                     std::int64_t end) {
  const ir::ValueId along = op.integers_constant({axis}), backwards = op.integers_constant({-1});
  const auto piece = [&](std::int64_t from, std::int64_t to) {
    const ir::ValueId first = op.integers_constant({from}), last = op.integers_constant({to});
    return op.emit("Slice", {x, first, last, along, backwards});
  };
  std::vector<ir::ValueId> parts;
  if (begin > 0) parts.push_back(piece(begin - 1, -std::numeric_limits<std::int64_t>::max()));
  parts.push_back(x);
  if (end > 0) parts.push_back(piece(-1, -1 - end));
  return parts.size() == 1 ? x : op.emit("Concat", std::move(parts), {{"axis", axis}});
}

void translate_mirror_pad(TfliteOperator& op) {
  if (op.options<tflite::MirrorPadOptions>().mode() == tflite::MirrorPadMode::REFLECT)
    return translate_pad(op);
  const std::vector<std::int64_t> pairs = op.integers(1);
  const Shape shape = op.input_shape(0);
  if (pairs.size() != 2 * shape.size())
    op.invalid(fmt::format("has {} paddings for {} dimensions", pairs.size(), shape.size()));
  const bool planar = op.prefers_planar({0});
  ir::ValueId x = planar ? op.planar_input(0) : op.input(0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t begin = pairs[2 * i], end = pairs[2 * i + 1];
    const std::int64_t most = shape[i] < 0 ? std::numeric_limits<std::int32_t>::max() : shape[i];
    if (begin < 0 || end < 0 || begin > most || end > most)
      op.invalid(fmt::format("mirrors {} and {} elements of {}", begin, end, shape[i]));
    const auto axis = static_cast<std::int64_t>(i);
    x = mirrored(op, x, planar ? TfliteOperator::planar_axis(axis) : axis, begin, end);
  }
  op.finish(0, x, planar);
}

void translate_cast(TfliteOperator& op) {
  if (is_quantised_activation(op.input_tensor(0)) || is_quantised_activation(op.output_tensor(0)))
    op.unsupported("CAST of quantised tensors is not supported");
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

/// Height, width and block of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, with the (begin, end) pairs of
/// input 2.
struct Blocks {
  std::int64_t height, width;
  std::int64_t top, bottom, left, right;
};

Blocks blocks_of(TfliteOperator& op) {
  const std::vector<std::int64_t> block = op.integers(1), pairs = op.integers(2);
  if (op.rank(0) != 4 || block.size() != 2 || pairs.size() != 4)
    op.unsupported("only blocks of height and width are supported");
  for (const std::int64_t v : block)
    if (v < 1 || v > std::numeric_limits<std::int32_t>::max())
      op.invalid(fmt::format("has a block of {}", v));
  for (const std::int64_t v : pairs)
    if (v < 0 || v > std::numeric_limits<std::int32_t>::max())
      op.invalid(fmt::format("has a border of {}", v));
  return {block[0], block[1], pairs[0], pairs[1], pairs[2], pairs[3]};
}

ir::ValueId reshaped(TfliteOperator& op, ir::ValueId x, const std::vector<std::int64_t>& shape) {
  return op.emit("Reshape", {x, op.integers_constant(shape)}, {{"allowzero", std::int64_t{0}}});
}

/// Every block's pixels become pictures of the batch: (N, C, H, W) → (bh * bw * N, C, H / bh, W / bw).
void translate_space_to_batch(TfliteOperator& op) {
  const Blocks b = blocks_of(op);
  const Shape in = op.input_shape(0);
  const std::int64_t height = in[1] + b.top + b.bottom, width = in[2] + b.left + b.right;
  if (in[1] < 0 || in[2] < 0 || in[3] < 0) op.unsupported("height, width and channels must be known");
  if (height % b.height != 0 || width % b.width != 0)
    op.invalid(fmt::format("cuts {}x{} into blocks of {}x{}", height, width, b.height, b.width));
  const ir::ValueId pads = op.integers_constant({0, 0, b.top, b.left, 0, 0, b.bottom, b.right});
  const ir::ValueId padded = op.emit("Pad", {op.planar_input(0), pads}, {{"mode", std::string("constant")}});
  const std::int64_t rows = height / b.height, columns = width / b.width;
  const ir::ValueId cut = reshaped(op, padded, {-1, in[3], rows, b.height, columns, b.width});
  const ir::ValueId turned =
      op.emit("Transpose", {cut}, {{"perm", std::vector<std::int64_t>{3, 5, 0, 1, 2, 4}}});
  op.finish_planar(reshaped(op, turned, {-1, in[3], rows, columns}));
}

/// The way back, then the borders are cropped.
void translate_batch_to_space(TfliteOperator& op) {
  const Blocks b = blocks_of(op);
  const Shape in = op.input_shape(0);
  if (in[1] < 0 || in[2] < 0 || in[3] < 0) op.unsupported("height, width and channels must be known");
  const std::int64_t height = in[1] * b.height, width = in[2] * b.width;
  if (b.top + b.bottom > height || b.left + b.right > width)
    op.invalid(fmt::format("crops more than there is of {}x{}", height, width));
  const ir::ValueId cut = reshaped(op, op.planar_input(0), {b.height, b.width, -1, in[3], in[1], in[2]});
  const ir::ValueId turned =
      op.emit("Transpose", {cut}, {{"perm", std::vector<std::int64_t>{2, 3, 4, 0, 5, 1}}});
  const ir::ValueId whole = reshaped(op, turned, {-1, in[3], height, width});
  const ir::ValueId from = op.integers_constant({b.top, b.left}),
                    to = op.integers_constant({height - b.bottom, width - b.right});
  op.finish_planar(op.emit("Slice", {whole, from, to, op.integers_constant({2, 3})}));
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
  for (const std::int64_t size : sizes) {
    if (size < -1 || size > std::numeric_limits<std::int32_t>::max())
      op.invalid(fmt::format("cuts a piece of {}", size));
    known += std::max<std::int64_t>(size, 0);
  }
  for (std::int64_t& size : sizes) {
    if (size != -1) continue;
    if (whole < 0)
      op.unsupported("SPLIT_V of an unknown length into a piece that takes the rest is not supported");
    size = whole - known;
  }
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
    {Code::BATCH_TO_SPACE_ND, translate_batch_to_space},
    {Code::BROADCAST_TO, translate_broadcast_to},
    {Code::CAST, translate_cast},
    {Code::CONCATENATION, translate_concatenation},
    {Code::DEPTH_TO_SPACE, translate_depth_to_space},
    {Code::EXPAND_DIMS, translate_expand_dims},
    {Code::FILL, translate_fill},
    {Code::MIRROR_PAD, translate_mirror_pad},
    {Code::PACK, translate_pack},
    {Code::PAD, translate_pad},
    {Code::PADV2, translate_pad},
    {Code::RESHAPE, translate_reshape},
    {Code::SHAPE, translate_shape},
    {Code::SPACE_TO_DEPTH, translate_space_to_depth},
    {Code::SPACE_TO_BATCH_ND, translate_space_to_batch},
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
