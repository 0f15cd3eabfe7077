#include "compiler/passes/simplify_means.h"

#include <array>

#include "compiler/pointwise.h"
#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

bool mean_of_planes(const ir::Graph& graph, const Node& node) {
  if (node.op != "ReduceMean" || node.integer("keepdims", 1) == 0 || !node.has_input(1)) return false;
  const Shape* shape = known_shape(graph, node.inputs[0]);
  const std::optional<std::vector<std::int64_t>> axes = integer_constant(graph, node.inputs[1]);
  return shape != nullptr && shape->size() == 4 && graph.value(node.inputs[0]).dtype == DType::f32 &&
         axes == std::optional(std::vector<std::int64_t>{2, 3});
}

bool of_a_sum(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& mean = graph.nodes[index];
  if (!mean_of_planes(graph, mean)) return false;
  const std::optional<std::size_t> source = edit.producer(mean.inputs[0], "Add");
  if (!source || !edit.uses().single(mean.inputs[0])) return false;
  const Node& add = graph.nodes[*source];
  const Shape* a = known_shape(graph, add.inputs[0]);
  const Shape* b = known_shape(graph, add.inputs[1]);
  if (a == nullptr || b == nullptr || *a != *b) return false;
  Node left = mean;
  Node right = mean;
  left.name += ":left";
  right.name += ":right";
  left.outputs.clear();
  right.outputs.clear();
  left.inputs[0] = add.inputs[0];
  right.inputs[0] = add.inputs[1];
  const std::string name = mean.name;
  const ValueId x = edit.insert(index, std::move(left));
  const ValueId y = edit.insert(index, std::move(right));
  edit.replace(index, edit.insert(index, Node{name, "Add", {x, y}, {}, {}}));
  edit.remove(*source);
  return true;
}

// Each pixel of the source has the same total weight in the result: weights are symmetric, and what clamping
// at an edge takes from pixels outside falls to their mirror images.
bool weighs_evenly(const Node& resize) {
  const std::string mode = resize.text("mode", "nearest");
  const std::string coordinates = resize.text("coordinate_transformation", "half_pixel");
  if (resize.integer("antialias", 0) != 0) return false;
  if (mode == "linear") return coordinates == "half_pixel";
  if (mode != "nearest") return false;
  const std::string rounding = resize.text("nearest_mode", "round_prefer_floor");
  if (coordinates == "half_pixel") return rounding.starts_with("round_prefer");
  return coordinates == "asymmetric" && rounding == "floor";
}

bool of_an_enlargement(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& mean = graph.nodes[index];
  if (!mean_of_planes(graph, mean)) return false;
  const std::optional<std::size_t> source = edit.producer(mean.inputs[0], "Resize");
  if (!source || !weighs_evenly(graph.nodes[*source])) return false;
  const Node& resize = graph.nodes[*source];
  const Shape* small = known_shape(graph, resize.inputs[0]);
  const Shape* large = known_shape(graph, resize.outputs[0]);
  if (small == nullptr || large == nullptr || small->size() != 4) return false;
  if ((*small)[0] != (*large)[0] || (*small)[1] != (*large)[1]) return false;
  std::array<float, 2> factors{};
  for (std::size_t d = 2; d < 4; ++d) {
    if ((*small)[d] == 0 || (*large)[d] % (*small)[d] != 0) return false;
    factors[d - 2] = static_cast<float>((*large)[d] / (*small)[d]);
  }
  // Given scales, not the sizes, say where pixels lie: they must be those factors.
  if (resize.has_input(2)) {
    const Tensor* scales = graph.constant_input(resize, 2);
    if (scales == nullptr || scales->dtype() != DType::f32 || scales->count() < 2) return false;
    const float* last = scales->data<float>() + scales->count() - 2;
    if (last[0] != factors[0] || last[1] != factors[1]) return false;
  }
  graph.nodes[index].inputs[0] = resize.inputs[0];
  edit.mark_changed();
  return true;
}

// mean(conv(x)) = conv(mean(x)) where the convolution looks at one pixel at a time. What else reads the
// convolution then need not wait, and may be merged with it.
bool of_a_pointwise(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& mean = graph.nodes[index];
  if (!mean_of_planes(graph, mean)) return false;
  const std::optional<std::size_t> source = edit.producer(mean.inputs[0], "Conv");
  if (!source || !is_plain_pointwise(graph, graph.nodes[*source])) return false;
  const Node& conv = graph.nodes[*source];
  const Shape* x = known_shape(graph, conv.inputs[0]);
  const Shape* y = known_shape(graph, conv.outputs[0]);
  if (x == nullptr || y == nullptr || (*x)[1] > 2 * (*y)[1]) return false;
  Node first = mean;
  first.outputs.clear();
  first.inputs[0] = conv.inputs[0];
  Node then = conv;
  then.name += ":mean";
  then.outputs.clear();
  then.inputs[0] = edit.insert(index, std::move(first));
  edit.touch(*source);
  edit.replace(index, edit.insert(index, std::move(then)));
  return true;
}

// mean(x * gate) = mean(x) * gate where the gate has one value a plane.
bool of_gated_planes(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& mean = graph.nodes[index];
  if (!mean_of_planes(graph, mean)) return false;
  const std::optional<std::size_t> source = edit.producer(mean.inputs[0], "Mul");
  if (!source) return false;
  const Node& mul = graph.nodes[*source];
  const Shape& result = *known_shape(graph, mean.inputs[0]);
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const Shape* x = known_shape(graph, mul.inputs[1 - slot]);
    const Shape* gate = known_shape(graph, mul.inputs[slot]);
    if (x == nullptr || gate == nullptr || *x != result || gate->size() != 4 || (*gate)[2] != 1 ||
        (*gate)[3] != 1 || result[2] * result[3] <= 1)
      continue;
    Node first = mean;
    first.name += ":ungated";
    first.outputs.clear();
    first.inputs[0] = mul.inputs[1 - slot];
    Node then{mean.name, "Mul", {edit.insert(index, std::move(first)), mul.inputs[slot]}, {}, {}};
    edit.touch(*source);
    edit.replace(index, edit.insert(index, std::move(then)));
    return true;
  }
  return false;
}

constexpr std::array<Rule, 4> kRules{of_a_sum, of_an_enlargement, of_a_pointwise, of_gated_planes};

}  // namespace

void simplify_means(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
