#include "compiler/passes/means_while_written.h"

#include "compiler/edit.h"
#include "ops/reduce.h"

namespace saccade::compiler {

namespace {

bool mean_of_planes(const ir::Graph& graph, const ir::Node& node) {
  if (node.op == "GlobalAveragePool") return true;
  return node.op == "ReduceMean" && node.has_input(1) &&
         integer_constant(graph, node.inputs[1]) == std::optional(std::vector<std::int64_t>{2, 3});
}

}  // namespace

void means_while_written(ir::Graph& graph) {
  const ir::Uses uses(graph);
  for (ir::Node& node : graph.nodes) {
    if (!mean_of_planes(graph, node) || uses.producer(node.inputs[0]) < 0) continue;
    const Shape* shape = known_shape(graph, node.inputs[0]);
    if (shape != nullptr && shape->size() == 4)
      node.attributes[std::string(ops::kFollow.name)] = std::int64_t{1};
  }
}

}  // namespace saccade::compiler
