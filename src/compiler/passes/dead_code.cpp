#include "compiler/passes/dead_code.h"

#include <algorithm>

#include "compiler/edit.h"
#include "ops/op_def.h"

namespace saccade::compiler {

void dead_code(ir::Graph& graph) {
  std::vector<bool> live(graph.values.size(), false);
  for (const ir::ValueId id : graph.outputs) live[static_cast<std::size_t>(id)] = true;
  std::vector<ir::Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const auto wanted = [&](ir::ValueId id) {
      return id != ir::kNoValue && live[static_cast<std::size_t>(id)];
    };
    if (std::none_of(node->outputs.begin(), node->outputs.end(), wanted)) continue;
    for (const ir::ValueId id : node->inputs)
      if (id != ir::kNoValue) live[static_cast<std::size_t>(id)] = true;
    // An optional output that nobody reads need not be computed; only trailing ones may simply be left out.
    // Where an operator has any number of outputs, as Split, their number means something.
    const ops::OpDef* op = ops::find(node->op);
    if (op != nullptr && op->max_outputs >= 0) {
      while (static_cast<int>(node->outputs.size()) > std::max(op->min_outputs, 1) &&
             !wanted(node->outputs.back()))
        node->outputs.pop_back();
    }
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  compact(graph);
}

}  // namespace saccade::compiler
