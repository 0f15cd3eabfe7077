#include "compiler/passes/lines_as_pictures.h"

#include <algorithm>
#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

Shape with_row(Shape shape) {
  shape.insert(shape.begin() + 2, 1);
  return shape;
}

// What an attribute says of the row: a window of one pixel that does not move and has nothing around it.
bool add_row(Node& node) {
  for (const auto& [key, of_row] :
       {std::pair("kernel_shape", 1), {"strides", 1}, {"dilations", 1}, {"output_padding", 0}}) {
    std::vector<std::int64_t> values = node.integers(key);
    if (values.empty()) continue;
    if (values.size() != 1) return false;
    values.insert(values.begin(), of_row);
    node.attributes[key] = values;
  }
  const std::vector<std::int64_t> pads = node.integers("pads");
  if (pads.empty()) return true;
  if (pads.size() != 2) return false;
  node.attributes["pads"] = std::vector<std::int64_t>{0, pads[0], 0, pads[1]};
  return true;
}

bool rewrite(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  Node node = graph.nodes[index];
  const bool filters = node.op == "Conv" || node.op == "ConvTranspose";
  const bool pool = node.op == "MaxPool" || node.op == "AveragePool";
  if ((!filters && !pool) || node.outputs.size() != 1 || node.text("auto_pad", "explicit") != "explicit" ||
      node.has("output_shape") || node.has_input(3))
    return false;
  const Shape *x = known_shape(graph, node.inputs[0]), *y = known_shape(graph, node.outputs[0]);
  if (x == nullptr || y == nullptr || x->size() != 3 || element_count(*x) == 0 || element_count(*y) == 0)
    return false;
  const Shape result = *y, row = with_row(*x);
  if (!add_row(node)) return false;
  if (filters) {
    const Shape* w = known_shape(graph, node.inputs[1]);
    if (w == nullptr || element_count(*w) == 0) return false;
    const Shape shape = with_row(*w);
    const Tensor* constant = graph.constant(node.inputs[1]);
    // Constant filters stay so: passes behind look for them.
    node.inputs[1] = constant != nullptr
                         ? graph.add_constant(node.name + ":filters", Tensor(*constant).reshaped(shape))
                         : insert_reshape(edit, index, node.name + ":filters", node.inputs[1], shape);
  }
  node.inputs[0] = insert_reshape(edit, index, node.name + ":row", node.inputs[0], row);
  node.outputs.clear();
  const std::string name = node.name;
  const ValueId made = edit.insert(index, std::move(node));
  edit.replace(index, insert_reshape(edit, index, name + ":line", made, result));
  return true;
}

constexpr std::array<Rule, 1> kRules{rewrite};

}  // namespace

void lines_as_pictures(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
