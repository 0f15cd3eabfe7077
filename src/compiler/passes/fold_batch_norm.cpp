#include "compiler/passes/fold_batch_norm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// y[c] = x[c] * scale[c] + offset[c]; an empty list means 1 or 0.
struct Affine {
  std::vector<float> scale, offset;
};

const Tensor* float_constant(const ir::Graph& graph, const Node& node, std::size_t slot) {
  const Tensor* tensor = graph.constant_input(node, slot);
  return tensor != nullptr && tensor->dtype() == DType::f32 ? tensor : nullptr;
}

std::optional<Affine> normalisation(const ir::Graph& graph, const Node& node) {
  const Tensor* scale = float_constant(graph, node, 1);
  const Tensor* bias = float_constant(graph, node, 2);
  const Tensor* mean = float_constant(graph, node, 3);
  const Tensor* variance = float_constant(graph, node, 4);
  if (scale == nullptr || bias == nullptr || mean == nullptr || variance == nullptr) return std::nullopt;
  const double epsilon = node.real("epsilon", 1e-5f);
  Affine affine;
  for (std::int64_t c = 0; c < scale->count(); ++c) {
    const double factor = scale->data<float>()[c] / std::sqrt(variance->data<float>()[c] + epsilon);
    affine.scale.push_back(static_cast<float>(factor));
    affine.offset.push_back(static_cast<float>(bias->data<float>()[c] - mean->data<float>()[c] * factor));
  }
  return affine;
}

// What `node` does to its input `slot`, if it is a per-channel scale or offset. The channel is dimension 1.
std::optional<Affine> affine_of(const ir::Graph& graph, const Node& node, std::size_t slot) {
  const Shape* shape = known_shape(graph, node.outputs[0]);
  const Shape* in = known_shape(graph, node.inputs[slot]);
  if (shape == nullptr || in == nullptr || shape->size() < 2 || *shape != *in) return std::nullopt;
  if (node.op == "BatchNormalization") {
    if (slot != 0 || node.outputs.size() != 1) return std::nullopt;
    return normalisation(graph, node);
  }
  if (node.op != "Mul" && node.op != "Add") return std::nullopt;
  std::optional<std::vector<float>> values = per_axis_constant(graph, node.inputs[1 - slot], *shape, 1);
  if (!values) return std::nullopt;
  Affine affine;
  (node.op == "Mul" ? affine.scale : affine.offset) = std::move(*values);
  return affine;
}

std::size_t bias_slot(const Node& node) { return node.op == "DeformConv" ? 3 : 2; }

bool plain_epilogue(const Node& node) {
  return node.text("activation", "none") == "none" && (bias_slot(node) == 3 || !node.has_input(3));
}

Tensor scaled_conv(const Tensor& weights, const std::vector<float>& scale) {
  Tensor result = weights.clone();
  const std::int64_t each = weights.count() / weights.dim(0);
  float* data = result.data<float>();
  for (std::int64_t i = 0; i < result.count(); ++i) data[i] *= scale[static_cast<std::size_t>(i / each)];
  return result;
}

// (C, M/group, k...): the output channel is the second dimension within the group of the first.
Tensor scaled_transposed(const Tensor& weights, std::int64_t group, const std::vector<float>& scale) {
  Tensor result = weights.clone();
  const std::int64_t per_group = weights.dim(1);
  const std::int64_t rows = weights.dim(0) / group;
  const std::int64_t each = weights.count() / (weights.dim(0) * per_group);
  float* data = result.data<float>();
  for (std::int64_t i = 0; i < result.count(); ++i) {
    const std::int64_t m = i / each % per_group;
    const std::int64_t g = i / (each * per_group) / rows;
    data[i] *= scale[static_cast<std::size_t>(g * per_group + m)];
  }
  return result;
}

Tensor scaled_matrix(const Tensor& weights, bool transposed, const std::vector<float>& scale) {
  Tensor result = weights.clone();
  float* data = result.data<float>();
  const std::int64_t columns = weights.dim(1);
  for (std::int64_t i = 0; i < result.count(); ++i)
    data[i] *= scale[static_cast<std::size_t>(transposed ? i / columns : i % columns)];
  return result;
}

// Folds what `follower` does into `node`, whose result only `follower` reads.
bool fold_into(Edit& edit, std::size_t index, std::size_t follower, const Affine& affine) {
  ir::Graph& graph = edit.graph();
  Node node = graph.nodes[index];
  const bool gemm = node.op == "Gemm";
  const std::size_t slot = bias_slot(node);
  const Tensor* weights = float_constant(graph, node, 1);
  if (weights == nullptr || !plain_epilogue(node)) return false;
  if (!affine.scale.empty() && integer_weights(*weights)) return false;
  if (gemm && (node.real("alpha", 1) != 1 || (node.has_input(slot) && node.real("beta", 1) != 1)))
    return false;
  const Shape* out = known_shape(graph, node.outputs[0]);
  if (out == nullptr || out->size() < 2) return false;
  const auto channels = static_cast<std::size_t>((*out)[1]);
  std::vector<float> bias(channels, 0.0f);
  if (node.has_input(slot)) {
    const std::optional<std::vector<float>> given =
        gemm ? per_axis_constant(graph, node.inputs[slot], *out, 1)
             : per_axis_constant(graph, node.inputs[slot], {static_cast<std::int64_t>(channels)}, 0);
    if (!given) return false;
    bias = *given;
  }
  if ((!affine.scale.empty() && affine.scale.size() != channels) ||
      (!affine.offset.empty() && affine.offset.size() != channels))
    return false;
  if (!affine.scale.empty()) {
    const bool transposed = gemm && node.integer("transB", 0) != 0;
    Tensor scaled = node.op == "ConvTranspose"
                        ? scaled_transposed(*weights, node.integer("group", 1), affine.scale)
                    : gemm ? scaled_matrix(*weights, transposed, affine.scale)
                           : scaled_conv(*weights, affine.scale);
    for (std::size_t c = 0; c < channels; ++c) bias[c] *= affine.scale[c];
    node.inputs[1] = graph.add_constant(graph.value(node.inputs[1]).name, std::move(scaled));
  }
  for (std::size_t c = 0; c < affine.offset.size(); ++c) bias[c] += affine.offset[c];
  node.inputs.resize(std::max<std::size_t>(node.inputs.size(), slot + 1), ir::kNoValue);
  node.inputs[slot] = add_floats(graph, node.name + ":bias", {static_cast<std::int64_t>(channels)}, bias);
  graph.nodes[index].inputs = std::move(node.inputs);
  edit.touch(index);
  edit.replace(follower, graph.nodes[index].outputs[0]);
  return true;
}

bool fold_behind(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "BatchNormalization" && node.op != "Mul" && node.op != "Add") return false;
  for (std::size_t slot = 0; slot < 2 && slot < node.inputs.size(); ++slot) {
    const std::optional<std::size_t> source = edit.producer(node.inputs[slot]);
    if (!source || !edit.uses().single(node.inputs[slot])) continue;
    const std::string& op = graph.nodes[*source].op;
    if (op != "Conv" && op != "ConvTranspose" && op != "DeformConv" && op != "Gemm") continue;
    const std::optional<Affine> affine = affine_of(graph, node, slot);
    if (affine && fold_into(edit, *source, index, *affine)) return true;
  }
  return false;
}

// conv(x * s) = conv'(x) with the scale in the weights' input channels; exact with padding too, as 0 * s = 0.
bool fold_in_front(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "Conv") return false;
  const std::optional<std::size_t> source = edit.producer(node.inputs[0], "Mul");
  const Tensor* weights = float_constant(graph, node, 1);
  if (!source || weights == nullptr || !edit.uses().single(node.inputs[0])) return false;
  const Node& mul = graph.nodes[*source];
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::optional<Affine> affine = affine_of(graph, mul, slot);
    if (!affine ||
        std::any_of(affine->scale.begin(), affine->scale.end(), [](float s) { return !std::isfinite(s); }))
      continue;
    Tensor scaled = weights->clone();
    const std::int64_t group = node.integer("group", 1);
    const std::int64_t per_group = weights->dim(1);
    const std::int64_t rows = weights->dim(0) / group;
    const std::int64_t each = weights->count() / (weights->dim(0) * per_group);
    float* data = scaled.data<float>();
    for (std::int64_t i = 0; i < scaled.count(); ++i) {
      const std::int64_t c = i / each % per_group;
      const std::int64_t g = i / (each * per_group) / rows;
      data[i] *= affine->scale[static_cast<std::size_t>(g * per_group + c)];
    }
    const ValueId x = mul.inputs[slot];
    const ValueId w = graph.add_constant(graph.value(node.inputs[1]).name, std::move(scaled));
    graph.nodes[index].inputs[0] = x;
    graph.nodes[index].inputs[1] = w;
    edit.remove(*source);
    edit.mark_changed();
    return true;
  }
  return false;
}

bool matrix_to_gemm(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "MatMul" || node.text("activation", "none") != "none") return false;
  const Shape* a = known_shape(graph, node.inputs[0]);
  const Tensor* b = float_constant(graph, node, 1);
  if (a == nullptr || a->size() != 2 || b == nullptr || b->rank() != 2) return false;
  const std::optional<ir::Uses::Use> use = edit.only_use(node.outputs[0]);
  if (!use || graph.nodes[use->node].op != "Add" || !affine_of(graph, graph.nodes[use->node], use->slot))
    return false;
  Node made{node.name, "Gemm", node.inputs, {}, {}};
  edit.replace(index, edit.insert(index, std::move(made)));
  return true;
}

// What could not be folded: two elementwise operators instead of one that few kernels know.
bool spell_out(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "BatchNormalization") return false;
  const std::optional<Affine> affine = affine_of(graph, node, 0);
  if (!affine) return false;
  Shape shape(known_shape(graph, node.outputs[0])->size(), 1);
  shape[1] = static_cast<std::int64_t>(affine->scale.size());
  const std::string name = node.name;
  const ValueId scale = add_floats(graph, name + ":scale", shape, affine->scale);
  const ValueId offset = add_floats(graph, name + ":offset", shape, affine->offset);
  const ValueId product =
      edit.insert(index, Node{name + ":scaled", "Mul", {graph.nodes[index].inputs[0], scale}, {}, {}});
  edit.replace(index, edit.insert(index, Node{name, "Add", {product, offset}, {}, {}}));
  return true;
}

constexpr std::array<Rule, 3> kFold{fold_behind, fold_in_front, matrix_to_gemm};
constexpr std::array<Rule, 1> kSpellOut{spell_out};

}  // namespace

void fold_batch_norm(ir::Graph& graph) {
  apply_rules(graph, kFold);
  apply_rules(graph, kSpellOut);
  // A scale that was spelled out may stand in front of a convolution.
  apply_rules(graph, kFold);
}

}  // namespace saccade::compiler
