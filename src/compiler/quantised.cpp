#include "compiler/quantised.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ops/infer.h"

namespace saccade::compiler {

using ir::Node;
using ir::ValueId;

namespace {

// More movements of data than any network has between a quantised tensor and its use.
constexpr int kMostSteps = 32;

// Operators that only move elements, or choose among them: what was on a grid of numbers stays on it.
bool keeps_grid(const Node& node) {
  constexpr std::array kMovers = {"Transpose",    "Reshape", "Squeeze", "Unsqueeze", "Flatten",
                                  "Slice",        "Split",   "MaxPool", "Identity",  "DepthToSpace",
                                  "SpaceToDepth", "Expand",  "Tile",    "Gather",    "Relu"};
  if (std::find(kMovers.begin(), kMovers.end(), node.op) != kMovers.end()) return true;
  if (node.op == "Pad") return node.text("mode", "constant") != "constant" || !node.has_input(2);
  return node.op == "Resize" && node.text("mode", "nearest") == "nearest";
}

// The index of the node that makes `id`, or nothing. By the graph as the sweep found it: dequantisation may
// serve several products, so a node that another rewrite has read still counts.
std::optional<std::size_t> maker(const Edit& edit, ValueId id) {
  const std::int64_t index = edit.uses().producer(id);
  if (index < 0) return std::nullopt;
  return static_cast<std::size_t>(index);
}

// The tensor behind a value that is a constant, or one that was dequantised, converted or rearranged.
std::optional<Tensor> known_tensor_within(const Edit& edit, ValueId id, int steps) {
  constexpr std::array kRearrange = {"DequantizeLinear", "Cast",      "Transpose", "Reshape",
                                     "Squeeze",          "Unsqueeze", "Identity"};
  const ir::Graph& graph = edit.graph();
  if (id == ir::kNoValue) return std::nullopt;
  if (const Tensor* tensor = graph.constant(id)) return *tensor;
  const std::optional<std::size_t> index = maker(edit, id);
  if (!index || steps > kMostSteps) return std::nullopt;
  const Node& node = graph.nodes[*index];
  if (std::find(kRearrange.begin(), kRearrange.end(), node.op) == kRearrange.end()) return std::nullopt;
  const std::optional<Tensor> data = known_tensor_within(edit, node.inputs[0], steps + 1);
  if (!data) return std::nullopt;
  std::vector<const Tensor*> inputs = {&*data};  // everything else must be constant as it stands
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    inputs.push_back(graph.constant_input(node, i));
    if (node.has_input(i) && inputs.back() == nullptr) return std::nullopt;
  }
  return ops::evaluate_node(node, graph, inputs).front();
}

// A scale that is there and positive throughout.
bool positive(const Tensor* scale) {
  return scale != nullptr && scale->dtype() == DType::f32 && scale->count() > 0 &&
         std::all_of(scale->values<float>().begin(), scale->values<float>().end(),
                     [](float s) { return s > 0 && std::isfinite(s); });
}

}  // namespace

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

int byte_at(const Tensor& tensor, std::int64_t i) {
  return tensor.dtype() == DType::i8 ? tensor.data<std::int8_t>()[i] : tensor.data<std::uint8_t>()[i];
}

bool sums_fit(const Tensor& weights, const Tensor* zero, const Tensor* bias) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t filters = weights.dim(0), each = weights.count() / filters;
  for (std::int64_t f = 0; f < filters; ++f) {
    const std::int64_t start = bias == nullptr ? 0 : std::abs(std::int64_t{bias->data<std::int32_t>()[f]});
    if (each * 255 * 255 + start <= kMost) continue;  // as in most networks, whatever the weights
    const int point = zero == nullptr || zero->count() == 0 ? 0 : byte_at(*zero, zero->count() == 1 ? 0 : f);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < each; ++i) sum += std::abs(byte_at(weights, f * each + i) - point);
    if (sum * 255 + start > kMost) return false;
  }
  return true;
}

std::optional<Grid> grid_of(const Edit& edit, ValueId id) {
  const ir::Graph& graph = edit.graph();
  for (int step = 0; step < kMostSteps; ++step) {
    const std::optional<std::size_t> index = maker(edit, id);
    if (!index) return std::nullopt;
    const Node& node = graph.nodes[*index];
    if (node.op == "DequantizeLinear") {
      const std::optional<float> scale = scalar_constant(graph, node.inputs[1]);
      if (!scale || !(*scale > 0) || !is_byte(graph.value(node.inputs[0]).dtype)) return std::nullopt;
      return Grid{*scale, step == 0 ? &node : nullptr};
    }
    if (!keeps_grid(node)) return std::nullopt;
    id = node.inputs[0];
  }
  return std::nullopt;
}

std::optional<Tensor> known_tensor(const Edit& edit, ValueId id) { return known_tensor_within(edit, id, 0); }

std::optional<Weights> weights_of(const Edit& edit, ValueId id) {
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> index = maker(edit, id);
  if (!index || graph.nodes[*index].op != "DequantizeLinear") return std::nullopt;
  const Node& node = graph.nodes[*index];
  if (!is_byte(graph.value(node.inputs[0]).dtype)) return std::nullopt;
  const Tensor* scale = graph.constant_input(node, 1);
  std::optional<Tensor> data = known_tensor(edit, node.inputs[0]);
  if (!data || scale == nullptr || scale->dtype() != DType::f32) return std::nullopt;
  if (node.integer("block_size", 0) != 0) return std::nullopt;
  Weights weights;
  weights.stored = std::move(*data);
  const auto values = scale->values<float>();
  weights.scales.assign(values.begin(), values.end());
  for (const float s : weights.scales)
    if (!(s > 0)) return std::nullopt;
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(weights.stored.rank());
  weights.axis = static_cast<std::size_t>(axis);
  if (node.has_input(2)) {
    weights.zero = known_tensor(edit, node.inputs[2]);
    if (!weights.zero) return std::nullopt;
  }
  return weights;
}

Tensor whole_weights(const Edit& edit, ValueId id, const Weights& weights) {
  const ir::Graph& graph = edit.graph();
  Node plain = graph.nodes[*maker(edit, id)];
  // Dequantised with a scale of 1, which is exact.
  Tensor ones(DType::f32, graph.constant_input(plain, 1)->shape());
  std::fill_n(ones.data<float>(), ones.count(), 1.0f);
  std::vector<const Tensor*> inputs = {&weights.stored, &ones};
  if (weights.zero) inputs.push_back(&*weights.zero);
  plain.inputs.resize(inputs.size());
  return ops::evaluate_node(plain, graph, inputs).front();
}

std::vector<double> joint_scales(const Weights& weights, float scale) {
  std::vector<double> joint;
  for (const float s : weights.scales) joint.push_back(static_cast<double>(scale * s));
  return joint;
}

std::optional<Tensor> bias_in_units(const Tensor& bias, const std::vector<double>& joint,
                                    std::int64_t channels) {
  if (bias.dtype() != DType::f32 || bias.count() != channels) return std::nullopt;
  Tensor units(DType::f32, bias.shape());
  for (std::int64_t c = 0; c < channels; ++c) {
    const double exact = static_cast<double>(bias.data<float>()[c]) /
                         joint[joint.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    const double whole = std::nearbyint(exact);
    const bool rounded = std::abs(exact - whole) <= 1e-3 + 2e-7 * std::abs(exact);
    units.data<float>()[c] = static_cast<float>(rounded ? whole : exact);
  }
  return units;
}

std::optional<Quantisation> quantisation_of(const ir::Graph& graph, const Node& node) {
  const bool back = node.op == "DequantizeLinear";
  if (!back && node.op != "QuantizeLinear") return std::nullopt;
  const DType dtype = graph.value(back ? node.inputs[0] : node.outputs[0]).dtype;
  const DType real = graph.value(back ? node.outputs[0] : node.inputs[0]).dtype;
  if (!is_byte(dtype) || real != DType::f32 || node.integer("bits", 8) != 8 ||
      node.integer("block_size", 0) != 0)
    return std::nullopt;
  const std::optional<float> scale = scalar_constant(graph, node.inputs[1]);
  if (!scale || !(*scale > 0) || !std::isfinite(*scale)) return std::nullopt;
  if (!node.has_input(2)) return Quantisation{*scale, 0, dtype};
  const Tensor* zero = graph.constant_input(node, 2);
  if (zero == nullptr || zero->dtype() != dtype || zero->count() > 1) return std::nullopt;
  return Quantisation{*scale, zero->count() == 0 ? 0 : byte_at(*zero, 0), dtype};
}

bool convolves_bytes(const ir::Graph& graph, const Node& node) {
  constexpr std::size_t kScales[] = {1, 4, 6}, kZeros[] = {2, 5, 7};
  const Shape* x = known_shape(graph, node.inputs[0]);
  const Shape* y = known_shape(graph, node.outputs[0]);
  if (node.op != "QLinearConv" || x == nullptr || y == nullptr || x->size() != 4 || y->size() != 4)
    return false;
  if (element_count(*x) == 0 || element_count(*y) == 0) return false;
  if (!is_byte(graph.value(node.inputs[0]).dtype) || !is_byte(graph.value(node.outputs[0]).dtype))
    return false;
  const Tensor* weights = graph.constant_input(node, 3);
  if (weights == nullptr || !is_byte(weights->dtype()) || weights->rank() != 4 || weights->count() == 0)
    return false;
  for (const std::size_t slot : kScales)
    if (!positive(graph.constant_input(node, slot))) return false;
  for (const std::size_t slot : kZeros) {
    const Tensor* zero = graph.constant_input(node, slot);
    if (node.has_input(slot) && (zero == nullptr || !is_byte(zero->dtype()) || zero->count() == 0))
      return false;
  }
  const Tensor* bias = graph.constant_input(node, 8);
  if (node.has_input(8) && (bias == nullptr || bias->dtype() != DType::i32)) return false;
  const std::int64_t groups = node.integer("group", 1);
  if (groups != 1 && (groups != (*x)[1] || groups != (*y)[1])) return false;
  for (const float scale : graph.constant_input(node, 4)->values<float>())
    if (!std::isfinite(*scalar_constant(graph, node.inputs[1]) * scale /
                       *scalar_constant(graph, node.inputs[6])))
      return false;
  return sums_fit(*weights, node.has_input(5) ? graph.constant_input(node, 5) : nullptr, bias);
}

}  // namespace saccade::compiler
