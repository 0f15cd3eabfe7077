#include "compiler/rewrite.h"

#include <algorithm>

namespace saccade::compiler {

namespace {

// A producer that was touched in this sweep may already mean something else: wait for the next one.
bool reads_touched(const Edit& edit, const ir::Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
    if (id == ir::kNoValue) return false;
    const std::int64_t producer = edit.uses().producer(id);
    return producer >= 0 && edit.touched(static_cast<std::size_t>(producer));
  });
}

}  // namespace

void apply_rules(ir::Graph& graph, std::span<const Rule> rules, int max_sweeps) {
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    Edit edit(graph);
    const std::size_t count = graph.nodes.size();
    for (std::size_t node = 0; node < count; ++node) {
      if (edit.touched(node) || reads_touched(edit, graph.nodes[node])) continue;
      for (const Rule rule : rules) {
        if (!rule(edit, node)) continue;
        edit.touch(node);
        break;
      }
    }
    if (!edit.commit()) return;
  }
}

}  // namespace saccade::compiler
