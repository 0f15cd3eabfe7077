#include "compiler/passes/recognise_norms.h"

#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;
using Perm = std::vector<std::int64_t>;

// The axis of x over which `mean` is its mean, with the dimension kept.
std::optional<std::size_t> mean_axis(const Edit& edit, ValueId mean, ValueId& x) {
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> node = edit.producer(mean, "ReduceMean");
  if (!node || graph.nodes[*node].integer("keepdims", 1) == 0 || !graph.nodes[*node].has_input(1))
    return std::nullopt;
  const std::optional<std::vector<std::int64_t>> axes = integer_constant(graph, graph.nodes[*node].inputs[1]);
  x = graph.nodes[*node].inputs[0];
  const Shape* shape = known_shape(graph, x);
  if (!axes || axes->size() != 1 || shape == nullptr || graph.value(x).dtype != DType::f32)
    return std::nullopt;
  const std::int64_t axis =
      (*axes)[0] < 0 ? (*axes)[0] + static_cast<std::int64_t>(shape->size()) : (*axes)[0];
  return static_cast<std::size_t>(axis);
}

// x, and the axis of its mean, of x - mean(x).
std::optional<std::size_t> centred_axis(const Edit& edit, ValueId centred, ValueId& x) {
  const std::optional<std::size_t> sub = edit.producer(centred, "Sub");
  if (!sub) return std::nullopt;
  const Node& node = edit.graph().nodes[*sub];
  const std::optional<std::size_t> axis = mean_axis(edit, node.inputs[1], x);
  return axis && node.inputs[0] == x ? axis : std::nullopt;
}

struct Variance {
  ValueId x;
  std::size_t axis;
  float epsilon;
};

// Of sqrt(mean((x - mean(x))^2) + epsilon).
std::optional<Variance> deviation_of(const Edit& edit, ValueId deviation) {
  const ir::Graph& graph = edit.graph();
  const std::optional<std::size_t> root = edit.producer(deviation, "Sqrt");
  if (!root) return std::nullopt;
  const std::optional<std::size_t> add = edit.producer(graph.nodes[*root].inputs[0], "Add");
  if (!add) return std::nullopt;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::optional<float> epsilon = scalar_constant(graph, graph.nodes[*add].inputs[slot]);
    if (!epsilon) continue;
    ValueId squared = ir::kNoValue, x = ir::kNoValue;
    const std::optional<std::size_t> axis = mean_axis(edit, graph.nodes[*add].inputs[1 - slot], squared);
    const std::optional<std::size_t> square = edit.producer(squared, "Mul");
    if (!axis || !square || graph.nodes[*square].inputs[0] != graph.nodes[*square].inputs[1])
      return std::nullopt;
    if (centred_axis(edit, graph.nodes[*square].inputs[0], x) != axis) return std::nullopt;
    return Variance{x, *axis, *epsilon};
  }
  return std::nullopt;
}

// The values along `axis` of the constant that the only reader of `id`, a node `op`, joins to it; that node
// is `last` then.
std::optional<std::vector<float>> joined(const Edit& edit, std::string_view op, const Shape& shape,
                                         std::size_t axis, std::size_t& last) {
  const ir::Graph& graph = edit.graph();
  const std::optional<ir::Uses::Use> use = edit.only_use(graph.nodes[last].outputs[0]);
  if (!use || graph.nodes[use->node].op != op) return std::nullopt;
  const Node& node = graph.nodes[use->node];
  const Shape* result = known_shape(graph, node.outputs[0]);
  if (result == nullptr || *result != shape) return std::nullopt;
  std::optional<std::vector<float>> values =
      per_axis_constant(graph, node.inputs[1 - use->slot], shape, axis);
  if (values) last = use->node;
  return values;
}

bool layer(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.op != "Div") return false;
  const std::optional<Variance> found = deviation_of(edit, node.inputs[1]);
  ValueId x = ir::kNoValue;
  if (!found || centred_axis(edit, node.inputs[0], x) != found->axis || x != found->x) return false;
  const Shape shape = *known_shape(graph, x);
  const bool channels = shape.size() == 4 && found->axis == 1;
  if (!channels && found->axis + 1 != shape.size()) return false;
  const std::string name = node.name;
  const auto count = static_cast<std::size_t>(shape[found->axis]);
  const auto row = [&](const char* what, std::optional<std::vector<float>> values, float otherwise) {
    if (!values) values = std::vector<float>(count, otherwise);
    return add_floats(graph, name + what, {static_cast<std::int64_t>(count)}, *values);
  };
  std::size_t last = index;
  const std::optional<std::vector<float>> scale = joined(edit, "Mul", shape, found->axis, last);
  const std::size_t product = last;
  const std::optional<std::vector<float>> bias = joined(edit, "Add", shape, found->axis, last);
  const ValueId scale_id = row(":scale", scale, 1), bias_id = row(":bias", bias, 0);
  const auto turned = [&](ValueId id, const Perm& perm) {
    return edit.insert(last, Node{name + ":turned", "Transpose", {id}, {}, {{"perm", perm}}});
  };
  const ValueId in = channels ? turned(x, {0, 2, 3, 1}) : x;
  ValueId made = edit.insert(last, Node{name,
                                        "LayerNormalization",
                                        {in, scale_id, bias_id},
                                        {},
                                        {{"axis", std::int64_t{-1}}, {"epsilon", found->epsilon}}});
  if (channels) made = turned(made, {0, 3, 1, 2});
  edit.replace(last, made);
  for (const std::size_t n : {product, index})
    if (n != last && !edit.touched(n)) edit.remove(n);
  return true;
}

constexpr std::array<Rule, 1> kRules{layer};

}  // namespace

void recognise_norms(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
