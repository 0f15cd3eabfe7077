#include "compiler/passes/fuse_elementwise.h"

#include <algorithm>
#include <set>

#include "compiler/chain.h"
#include "compiler/edit.h"

namespace saccade::compiler {

namespace {

// More would need more registers than kernels have.
constexpr std::size_t kMostInstructions = 24;
constexpr std::size_t kMostInputs = 6;

std::size_t outside_inputs(const ir::Graph& graph, const std::set<std::size_t>& group) {
  std::set<ir::ValueId> made;
  for (const std::size_t n : group) made.insert(graph.nodes[n].outputs[0]);
  std::set<ir::ValueId> read;
  for (const std::size_t n : group)
    for (const ir::ValueId id : graph.nodes[n].inputs)
      if (id != ir::kNoValue && !made.contains(id) && !scalar_constant(graph, id)) read.insert(id);
  return read.size();
}

// Nodes that `root` may be computed together with, itself included.
std::set<std::size_t> group_of(const Edit& edit, std::size_t root) {
  const ir::Graph& graph = edit.graph();
  const Shape shape = *known_shape(graph, graph.nodes[root].outputs[0]);
  std::set<std::size_t> group{root};
  bool grown = true;
  while (grown && group.size() < kMostInstructions) {
    grown = false;
    for (const std::size_t member : std::vector<std::size_t>(group.begin(), group.end())) {
      for (const ir::ValueId id : graph.nodes[member].inputs) {
        const std::optional<std::size_t> producer = edit.producer(id);
        if (!producer || group.contains(*producer) || edit.uses().is_output(id)) continue;
        if (graph.value(id).dtype != DType::f32) continue;
        const ir::Node& node = graph.nodes[*producer];
        if (!chainable(graph, node) || *known_shape(graph, id) != shape) continue;
        const auto& uses = edit.uses().of(id);
        if (!std::all_of(uses.begin(), uses.end(),
                         [&](const ir::Uses::Use& use) { return group.contains(use.node); }))
          continue;
        group.insert(*producer);
        if (outside_inputs(graph, group) > kMostInputs) {
          group.erase(*producer);
          continue;
        }
        grown = true;
        if (group.size() >= kMostInstructions) return group;
      }
    }
  }
  return group;
}

}  // namespace

void fuse_elementwise(ir::Graph& graph) {
  Edit edit(graph);
  for (std::size_t root = graph.nodes.size(); root-- > 0;) {
    if (edit.touched(root) || !chainable(graph, graph.nodes[root])) continue;
    const std::set<std::size_t> group = group_of(edit, root);
    if (group.size() < 2) continue;
    std::vector<const ir::Node*> nodes;
    for (const std::size_t n : group) nodes.push_back(&graph.nodes[n]);
    edit.replace(root, edit.insert(root, make_chain(graph, nodes)));
    for (const std::size_t n : group)
      if (n != root) edit.remove(n);
  }
  edit.commit();
}

}  // namespace saccade::compiler
