#include "compiler/passes/fuse_residual.h"

#include <algorithm>
#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;

bool takes_residual(const Edit& edit, std::size_t index) {
  const Node& node = edit.graph().nodes[index];
  return node.op == "Conv" && node.text("activation", "none") == "none" && !node.has_input(3) &&
         edit.uses().single(node.outputs[0]) && edit.graph().value(node.outputs[0]).dtype == DType::f32;
}

bool fuse(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& add = graph.nodes[index];
  if (!adds_equal_shapes(graph, add)) return false;
  std::optional<std::size_t> chosen;
  std::size_t slot = 0;
  for (std::size_t k = 0; k < 2; ++k) {
    const std::optional<std::size_t> conv = edit.producer(add.inputs[k], "Conv");
    if (!conv || !takes_residual(edit, *conv)) continue;
    if (chosen && *chosen > *conv) continue;
    chosen = conv;
    slot = k;
  }
  if (!chosen) return false;
  Node& conv = graph.nodes[*chosen];
  conv.inputs.resize(std::max<std::size_t>(conv.inputs.size(), 4), ir::kNoValue);
  conv.inputs[3] = add.inputs[1 - slot];
  edit.replace(index, conv.outputs[0]);
  // Its residual may be made between the convolution and here; nothing but the sum waits for the convolution.
  edit.move_before(*chosen, index);
  return true;
}

constexpr std::array<Rule, 1> kRules{fuse};

}  // namespace

void fuse_residual(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
