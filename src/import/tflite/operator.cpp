#include "import/tflite/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "saccade/error.h"

namespace saccade::import {

namespace {

const std::vector<std::int64_t> kToPlanar = {0, 3, 1, 2};
const std::vector<std::int64_t> kToPlain = {0, 2, 3, 1};

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

/// Weights keep their integers, which the compiler makes use of; of small tables the real numbers are
/// handier.
bool stays_integer(const Tensor& data) {
  return dtype_size(data.dtype()) == 1 && (data.rank() == 2 || data.rank() == 4);
}

}  // namespace

TfliteGraph::TfliteGraph(const TfliteFile& file, const tflite::SubGraph& subgraph)
    : file_(file), subgraph_(subgraph) {
  values_.resize(subgraph.tensors() != nullptr ? subgraph.tensors()->size() : 0);
}

const tflite::Tensor& TfliteGraph::tensor(std::int32_t index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= values_.size())
    fail(fmt::format("refers to tensor {} of {}", index, values_.size()));
  const tflite::Tensor* tensor = subgraph_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  if (tensor == nullptr) fail(fmt::format("tensor {} is missing", index));
  return *tensor;
}

std::string TfliteGraph::name(std::int32_t index) const {
  const std::string name = tflite_name(tensor(index));
  return name.empty() ? fmt::format("tensor_{}", index) : name;
}

const TfliteValue& TfliteGraph::value(std::int32_t index) const {
  tensor(index);  // throws for an index out of range
  return values_[static_cast<std::size_t>(index)];
}

TfliteValue& TfliteGraph::value(std::int32_t index) {
  tensor(index);
  return values_[static_cast<std::size_t>(index)];
}

void TfliteGraph::load_constant(std::int32_t index) {
  TfliteValue& v = value(index);
  if (v.plain != ir::kNoValue || v.planar != ir::kNoValue) return;
  const tflite::Tensor& t = tensor(index);
  try {
    auto data = tflite_constant(file_, t);
    if (!data) return;
    if (!is_quantised(t)) return set_constant(index, std::move(*data));
    if (!stays_integer(*data)) return set_constant(index, dequantised(*data, t));
    const std::string integers = name(index) + ":int";
    set_plain(index, dequantise(name(index), builder_.graph.add_constant(integers, std::move(*data)),
                                quantisation_of(t)));
  } catch (const Error& error) {
    throw error.within("tensor '" + name(index) + "'");
  }
}

void TfliteGraph::set_constant(std::int32_t index, Tensor data) {
  set_plain(index, builder_.graph.add_constant(name(index), std::move(data)));
}

ir::ValueId TfliteGraph::zero_points(const std::string& new_name, const Quantisation& q, DType dtype) {
  const Shape shape = q.zeros.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(q.zeros.size())};
  const Tensor wide = Tensor::of<std::int64_t>(shape, std::span<const std::int64_t>(q.zeros));
  Tensor zeros = cast_tensor(wide, dtype);
  if (to_integers(zeros) != q.zeros)
    fail(fmt::format("has a zero point of {}, which {} does not hold", q.zeros.front(), dtype_name(dtype)));
  return builder_.graph.add_constant(new_name + ":zero", std::move(zeros));
}

ir::ValueId TfliteGraph::dequantise(const std::string& new_name, ir::ValueId integers,
                                    const Quantisation& q) {
  const Shape shape = q.scales.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(q.scales.size())};
  const ir::ValueId scale = builder_.graph.add_constant(
      new_name + ":scale", Tensor::of<float>(shape, std::span<const float>(q.scales)));
  const ir::ValueId zero = zero_points(new_name, q, builder_.dtype(integers));
  const ir::ValueId id =
      builder_.emit_one(new_name, "DequantizeLinear", {integers, scale, zero}, {{"axis", q.axis}});
  builder_.graph.value(id).dtype = DType::f32;
  return id;
}

ir::ValueId TfliteGraph::quantise(const std::string& new_name, ir::ValueId reals, const Quantisation& q,
                                  DType dtype) {
  const ir::ValueId scale =
      builder_.graph.add_constant(new_name + ":scale", Tensor::of<float>({}, {q.scales.front()}));
  return builder_.emit_one(new_name, "QuantizeLinear", {reals, scale, zero_points(new_name, q, dtype)});
}

ir::ValueId TfliteGraph::transposed(std::int32_t index, const std::string& new_name,
                                    const std::vector<std::int64_t>& perm) {
  const tflite::Tensor& t = tensor(index);
  const auto turned = [&](const std::string& to, ir::ValueId from) {
    const Tensor* data = builder_.constant_data(from);
    if (data == nullptr || data->bytes() >= kLargeConstant)
      return builder_.emit_one(to, "Transpose", {from}, {{"perm", perm}});
    if (data->rank() != perm.size())
      fail(fmt::format("tensor '{}' has shape {}, expected {} dimensions", name(index),
                       shape_string(data->shape()), perm.size()));
    return builder_.graph.add_constant(to, transpose_tensor(*data, perm));
  };
  if (is_quantised(t)) {
    auto data = tflite_constant(file_, t);
    if (data && stays_integer(*data)) {
      Quantisation q = quantisation_of(t);
      const auto axis = std::find(perm.begin(), perm.end(), q.axis);
      if (axis == perm.end())
        fail(fmt::format("tensor '{}' has scales for dimension {}", name(index), q.axis));
      q.axis = axis - perm.begin();
      const ir::ValueId integers = builder_.graph.add_constant(new_name + ":int", std::move(*data));
      return dequantise(new_name, turned(new_name + ":turned", integers), q);
    }
  }
  return turned(new_name, plain(index));
}

bool TfliteGraph::is_made(std::int32_t index) const {
  const TfliteValue& v = value(index);
  return v.plain != ir::kNoValue || v.planar != ir::kNoValue;
}

bool TfliteGraph::is_constant(std::int32_t index) {
  load_constant(index);
  return builder_.constant_data(value(index).plain) != nullptr;
}

void TfliteGraph::set_plain(std::int32_t index, ir::ValueId id) { value(index).plain = id; }
void TfliteGraph::set_planar(std::int32_t index, ir::ValueId id) { value(index).planar = id; }

ir::ValueId TfliteGraph::plain(std::int32_t index) {
  load_constant(index);
  TfliteValue& v = value(index);
  if (v.plain == ir::kNoValue) {
    if (v.planar == ir::kNoValue) fail("reads tensor '" + name(index) + "' before it is computed");
    v.plain = builder_.emit_one(name(index), "Transpose", {v.planar}, {{"perm", kToPlain}});
  }
  return v.plain;
}

ir::ValueId TfliteGraph::planar(std::int32_t index) {
  load_constant(index);
  TfliteValue& v = value(index);
  if (v.planar != ir::kNoValue) return v.planar;
  if (v.plain == ir::kNoValue) fail("reads tensor '" + name(index) + "' before it is computed");
  const std::string planar_name = name(index) + ":nchw";
  const Tensor* data = builder_.constant_data(v.plain);
  if (data != nullptr && data->bytes() < kLargeConstant) {
    if (data->rank() != 4)
      fail(fmt::format("tensor '{}' has shape {}, expected 4 dimensions", name(index),
                       shape_string(data->shape())));
    v.planar = builder_.graph.add_constant(planar_name, transpose_tensor(*data, kToPlanar));
  } else {
    if (tflite_shape(tensor(index)).size() != 4)
      fail(fmt::format("tensor '{}' has shape {}, expected 4 dimensions", name(index),
                       shape_string(tflite_shape(tensor(index)))));
    v.planar = builder_.emit_one(planar_name, "Transpose", {v.plain}, {{"perm", kToPlanar}});
  }
  return v.planar;
}

void TfliteOperator::invalid(const std::string& message) const { fail(message); }

std::int32_t TfliteOperator::input_index(std::size_t i) const {
  if (!has_input(i)) invalid(fmt::format("input {} is missing", i));
  return op_.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
}

std::int32_t TfliteOperator::output_index(std::size_t i) const {
  if (i >= output_count()) invalid(fmt::format("output {} is missing", i));
  return op_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
}

bool TfliteOperator::has_input(std::size_t i) const {
  return i < input_count() && op_.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)) != -1;
}

std::span<const std::uint8_t> TfliteOperator::custom_options() const {
  const auto* bytes = op_.custom_options();
  if (bytes == nullptr) return {};
  return {bytes->data(), bytes->size()};
}

DType TfliteOperator::output_dtype(std::size_t i) const {
  const std::optional<DType> dtype = tflite_dtype(output_tensor(i).type());
  if (!dtype)
    unsupported(std::string("tensors of ") + tflite::EnumNameTensorType(output_tensor(i).type()) +
                " are not supported");
  return *dtype;
}

ir::ValueId TfliteOperator::input(std::size_t i) const {
  return has_input(i) ? graph_.plain(input_index(i)) : ir::kNoValue;
}

ir::ValueId TfliteOperator::planar_input(std::size_t i) const { return graph_.planar(input_index(i)); }

const Tensor* TfliteOperator::constant(std::size_t i) const {
  if (!has_input(i) || !graph_.is_constant(input_index(i))) return nullptr;
  return graph_.builder().constant_data(graph_.plain(input_index(i)));
}

std::vector<std::int64_t> TfliteOperator::integers(std::size_t i) const {
  const Tensor* data = constant(i);
  if (data == nullptr) unsupported(fmt::format("input {} must be constant", i));
  return to_integers(*data);
}

ir::ValueId TfliteOperator::int64_input(std::size_t i) const {
  GraphBuilder& builder = graph_.builder();
  const std::string name = graph_.name(input_index(i)) + ":int64";
  if (const Tensor* data = constant(i))
    return builder.graph.add_constant(name, cast_tensor(*data, DType::i64));
  const ir::ValueId id = input(i);
  if (dtype(id) == DType::i64) return id;
  return builder.emit_one(name, "Cast", {id}, {{"to", std::string(dtype_name(DType::i64))}});
}

bool TfliteOperator::prefers_planar() const {
  bool any = false;
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (!has_input(i)) continue;
    if (graph_.is_constant(input_index(i))) {
      if (input_shape(i).size() > 4) return false;
    } else if (input_shape(i).size() != 4) {
      return false;
    } else {
      any = any || graph_.has_planar(input_index(i));
    }
  }
  return any;
}

ir::ValueId TfliteOperator::planar_operand(std::size_t i) {
  const Tensor* data = constant(i);
  if (data == nullptr || data->rank() == 4) return planar_input(i);
  Shape shape = data->shape();
  shape.insert(shape.begin(), 4 - shape.size(), 1);  // broadcasting aligns the last axes
  return tensor_constant(transpose_tensor(data->reshaped(shape), kToPlanar));
}

bool TfliteOperator::prefers_planar(std::initializer_list<std::size_t> inputs) const {
  bool any = false;
  for (const std::size_t i : inputs) {
    if (input_shape(i).size() != 4) return false;
    any = any || graph_.has_planar(input_index(i));
  }
  return any;
}

std::int64_t TfliteOperator::planar_axis(std::int64_t axis) {
  constexpr std::array<std::int64_t, 4> kAxis = {0, 2, 3, 1};
  return kAxis.at(static_cast<std::size_t>(axis < 0 ? axis + 4 : axis));
}

std::string TfliteOperator::fresh_name(std::string_view suffix) {
  return fmt::format("{}/{}_{}", output_count() > 0 ? graph_.name(output_index(0)) : "node", suffix,
                     fresh_++);
}

ir::ValueId TfliteOperator::emit(std::string_view op, std::vector<ir::ValueId> inputs,
                                 ir::Attributes attributes) {
  const ir::ValueId id =
      graph_.builder().emit_one(fresh_name(op), op, std::move(inputs), std::move(attributes));
  own_.insert(id);
  return id;
}

std::vector<ir::ValueId> TfliteOperator::emit_many(std::string_view op, std::vector<ir::ValueId> inputs,
                                                   ir::Attributes attributes, std::size_t outputs) {
  const std::string name = fresh_name(op);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(fmt::format("{}:{}", name, i));
  std::vector<ir::ValueId> ids =
      graph_.builder().emit(name, op, std::move(inputs), std::move(attributes), names);
  own_.insert(ids.begin(), ids.end());
  return ids;
}

ir::ValueId TfliteOperator::integers_constant(const std::vector<std::int64_t>& values) {
  return graph_.builder().integers(fresh_name("const"), values);
}

ir::ValueId TfliteOperator::real_constant(double value, DType dtype) {
  return graph_.builder().reals(fresh_name("const"), dtype, {}, {value});
}

ir::ValueId TfliteOperator::tensor_constant(Tensor tensor) {
  return graph_.builder().graph.add_constant(fresh_name("const"), std::move(tensor));
}

ir::ValueId TfliteOperator::activate(ir::ValueId x, tflite::Activation activation) {
  switch (activation) {
    case tflite::Activation::NONE:
      return x;
    case tflite::Activation::RELU:
      return emit("Relu", {x});
    case tflite::Activation::RELU6:
      return emit("Clip", {x, real_constant(0, dtype(x)), real_constant(6, dtype(x))});
    case tflite::Activation::RELU_N1_TO_1:
      return emit("Clip", {x, real_constant(-1, dtype(x)), real_constant(1, dtype(x))});
    case tflite::Activation::TANH:
      return emit("Tanh", {x});
    case tflite::Activation::SIGN_BIT:
      break;
  }
  unsupported(fmt::format("fused activation {} is not supported", static_cast<int>(activation)));
}

std::optional<Tensor> TfliteOperator::stored(std::size_t i) const {
  if (!has_input(i)) return std::nullopt;
  return tflite_constant(graph_.file(), input_tensor(i));
}

ir::ValueId TfliteOperator::transposed_input(std::size_t i, const std::vector<std::int64_t>& perm) {
  return graph_.transposed(input_index(i), fresh_name("turned"), perm);
}

/// Whether the output's values lie on its grid of representable numbers without being rounded: the operator
/// only moves elements, and the inputs have the same scale and zero point.
bool TfliteOperator::keeps_grid(std::size_t output) const {
  using Code = tflite::BuiltinOperator;
  constexpr std::array kMovers = {Code::BATCH_TO_SPACE_ND,
                                  Code::BROADCAST_TO,
                                  Code::DENSIFY,
                                  Code::CONCATENATION,
                                  Code::DEPTH_TO_SPACE,
                                  Code::EXPAND_DIMS,
                                  Code::GATHER,
                                  Code::GATHER_ND,
                                  Code::MAXIMUM,
                                  Code::MAX_POOL_2D,
                                  Code::MINIMUM,
                                  Code::MIRROR_PAD,
                                  Code::PACK,
                                  Code::PAD,
                                  Code::PADV2,
                                  Code::REDUCE_MAX,
                                  Code::REDUCE_MIN,
                                  Code::RELU,
                                  Code::RESHAPE,
                                  Code::REVERSE_V2,
                                  Code::RESIZE_NEAREST_NEIGHBOR,
                                  Code::SLICE,
                                  Code::SPACE_TO_BATCH_ND,
                                  Code::SPACE_TO_DEPTH,
                                  Code::SPLIT,
                                  Code::SPLIT_V,
                                  Code::SQUEEZE,
                                  Code::STRIDED_SLICE,
                                  Code::TILE,
                                  Code::TRANSPOSE,
                                  Code::UNPACK};
  if (std::find(kMovers.begin(), kMovers.end(), code_) == kMovers.end()) return false;
  if (const auto* pool = op_.builtin_options_as_Pool2DOptions();
      pool != nullptr && pool->fused_activation_function() != tflite::Activation::NONE)
    return false;
  if (const auto* concat = op_.builtin_options_as_ConcatenationOptions();
      concat != nullptr && concat->fused_activation_function() != tflite::Activation::NONE)
    return false;
  const Quantisation wanted = quantisation_of(output_tensor(output));
  bool any = false;
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (!has_input(i) || !is_quantised(input_tensor(i))) continue;
    if (quantisation_of(input_tensor(i)) != wanted) return false;
    any = true;
  }
  return any;
}

void TfliteOperator::finish(std::size_t output, ir::ValueId value, bool planar) {
  const std::int32_t index = output_index(output);
  if (graph_.is_made(index)) invalid("makes tensor '" + graph_.name(index) + "', which is already made");
  const tflite::Tensor& tensor = output_tensor(output);
  const bool quantised = is_quantised_activation(tensor);
  if (quantised && !keeps_grid(output)) {  // rounded to the numbers that the tensor can hold
    const Quantisation q = quantisation_of(tensor);
    const ir::ValueId integers =
        graph_.quantise(fresh_name("QuantizeLinear"), value, q, output_dtype(output));
    value = graph_.dequantise(fresh_name("DequantizeLinear"), integers, q);
    own_.insert(value);
  }
  if (own_.erase(value) == 0) {  // an input or constant handed through keeps its own name
    value = emit("Identity", {value});
    own_.erase(value);
  }
  graph_.builder().graph.value(value).name =
      graph_.name(index) + (quantised ? ":real" : "") + (planar ? ":nchw" : "");
  if (planar)
    graph_.set_planar(index, value);
  else
    graph_.set_plain(index, value);
}

}  // namespace saccade::import
