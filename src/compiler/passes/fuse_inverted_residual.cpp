#include "compiler/passes/fuse_inverted_residual.h"

#include <array>

#include "compiler/pointwise.h"
#include "compiler/rewrite.h"
#include "ops/inverted_residual.h"

namespace saccade::compiler {

namespace {

using ir::Node;

// A two-dimensional f32 convolution with constant weights; returns their shape.
const Shape* picture_weights(const ir::Graph& graph, const Node& node) {
  if (node.op != "Conv" || graph.value(node.outputs[0]).dtype != DType::f32) return nullptr;
  if (graph.constant(node.inputs[1]) == nullptr) return nullptr;
  if (node.has_input(2) && graph.constant(node.inputs[2]) == nullptr) return nullptr;
  if (node.text("auto_pad", "explicit") != "explicit" || node.has_input(4)) return nullptr;
  if (known_shape(graph, node.inputs[0]) == nullptr || known_shape(graph, node.outputs[0]) == nullptr)
    return nullptr;
  const Shape& weights = graph.constant(node.inputs[1])->shape();
  return weights.size() == 4 ? &weights : nullptr;
}

bool depthwise(const ir::Graph& graph, const Node& node) {
  const Shape* weights = picture_weights(graph, node);
  if (weights == nullptr || node.has_input(3)) return false;
  const std::int64_t group = node.integer("group", 1);
  return group > 1 && (*weights)[0] == group && (*weights)[1] == 1 &&
         (*known_shape(graph, node.inputs[0]))[1] == group;
}

bool pointwise(const ir::Graph& graph, const Node& node) {
  const Shape* weights = picture_weights(graph, node);
  return weights != nullptr && is_pointwise(graph, node) && node.integer("group", 1) == 1;
}

/// A residual of one pixel, which blocks do not add.
bool has_other_residual(const ir::Graph& graph, const Node& node) {
  if (!node.has_input(3)) return false;
  const Shape* residual = known_shape(graph, node.inputs[3]);
  return residual == nullptr || *residual != *known_shape(graph, node.outputs[0]);
}

bool fuse(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& middle = graph.nodes[index];
  if (!depthwise(graph, middle)) return false;
  const std::optional<std::size_t> before = edit.producer(middle.inputs[0], "Conv");
  const bool expands = before && edit.uses().single(middle.inputs[0]) &&
                       pointwise(graph, graph.nodes[*before]) && !graph.nodes[*before].has_input(3);
  const std::optional<ir::Uses::Use> after = edit.only_use(middle.outputs[0]);
  const bool projects = after && after->slot == 0 && pointwise(graph, graph.nodes[after->node]) &&
                        !has_other_residual(graph, graph.nodes[after->node]);
  if (!expands && !projects) return false;
  const Node* first = expands ? &graph.nodes[*before] : nullptr;
  const Node* last = projects ? &graph.nodes[after->node] : nullptr;
  const std::size_t place = projects ? after->node : index;
  const ir::ValueId result = edit.insert(place, ops::make_block(first, middle, last));
  if (expands) edit.remove(*before);
  if (projects) edit.remove(index);
  edit.replace(place, result);
  return true;
}

constexpr std::array<Rule, 1> kRules{fuse};

}  // namespace

void fuse_inverted_residual(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
