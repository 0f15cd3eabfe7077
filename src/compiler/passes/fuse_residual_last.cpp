#include "compiler/passes/fuse_residual_last.h"

#include <algorithm>
#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;

bool takes_residual(const Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.has_input(3) || !edit.uses().single(node.outputs[0])) return false;
  const std::string activation = node.text("activation", "none");
  if (activation != "relu" && activation != "clip" && activation != "hard_swish") return false;
  const Shape* x = known_shape(graph, node.inputs[0]);
  return x != nullptr && x->size() == 4 && (*x)[1] > 1 && node.integer("group", 1) == (*x)[1] &&
         graph.value(node.outputs[0]).dtype == DType::f32;
}

bool fuse(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& add = graph.nodes[index];
  if (!adds_equal_shapes(graph, add)) return false;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::optional<std::size_t> found = edit.producer(add.inputs[slot], "Conv");
    if (!found || !takes_residual(edit, *found)) continue;
    Node& conv = graph.nodes[*found];
    conv.inputs.resize(std::max<std::size_t>(conv.inputs.size(), 4), ir::kNoValue);
    conv.inputs[3] = add.inputs[1 - slot];
    conv.attributes["residual_last"] = std::int64_t{1};
    edit.replace(index, conv.outputs[0]);
    edit.move_before(*found, index);
    return true;
  }
  return false;
}

constexpr std::array<Rule, 1> kRules{fuse};

}  // namespace

void fuse_residual_last(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
