#include "compiler/passes/pointwise_as_matmul.h"

#include <algorithm>
#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

bool all_are(const std::vector<std::int64_t>& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
}

bool rewrite(Edit& edit, std::size_t index) {
  const ir::Graph& graph = edit.graph();
  const Node node = graph.nodes[index];
  if (node.op != "Conv" || graph.constant(node.inputs[1]) != nullptr || node.has_input(3) ||
      node.text("activation", "none") != "none" || node.text("auto_pad", "explicit") != "explicit")
    return false;
  const Shape *x = known_shape(graph, node.inputs[0]), *w = known_shape(graph, node.inputs[1]),
              *y = known_shape(graph, node.outputs[0]);
  if (x == nullptr || w == nullptr || y == nullptr || element_count(*x) == 0 || element_count(*y) == 0)
    return false;
  if (!all_are({w->begin() + 2, w->end()}, 1) || !all_are(node.integers("strides"), 1) ||
      !all_are(node.integers("pads"), 0))
    return false;
  const Shape result = *y;
  const std::int64_t groups = node.integer("group", 1), channels = (*w)[1], filters = (*w)[0] / groups,
                     batch = (*x)[0], pixels = element_count(*x) / (batch * channels * groups);
  const ValueId left =
      insert_reshape(edit, index, node.name + ":filters", node.inputs[1], {1, groups, filters, channels});
  const ValueId right =
      insert_reshape(edit, index, node.name + ":pixels", node.inputs[0], {batch, groups, channels, pixels});
  ValueId made = edit.insert(index, Node{node.name, "MatMul", {left, right}, {}, {}});
  if (node.has_input(2)) {
    const ValueId bias =
        insert_reshape(edit, index, node.name + ":bias", node.inputs[2], {1, groups, filters, 1});
    made = edit.insert(index, Node{node.name + ":sum", "Add", {made, bias}, {}, {}});
  }
  edit.replace(index, insert_reshape(edit, index, node.name + ":result", made, result));
  return true;
}

constexpr std::array<Rule, 1> kRules{rewrite};

}  // namespace

void pointwise_as_matmul(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
