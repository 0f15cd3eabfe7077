#include "compiler/islands.h"

#include <algorithm>
#include <map>

#include "compiler/edit.h"

namespace saccade::compiler {

namespace {

bool static_shapes(const ir::Graph& graph, const ir::Node& node) {
  const auto known = [&](ir::ValueId id) { return id == ir::kNoValue || known_shape(graph, id) != nullptr; };
  return std::all_of(node.inputs.begin(), node.inputs.end(), known) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), known);
}

/// Builds the graph of one island.
class IslandBuilder {
 public:
  IslandBuilder(const ir::Graph& whole, bool is_static) : whole_(whole) {
    island_.static_shapes = is_static;
    island_.graph.limits = whole.limits;
  }

  void add(const ir::Node& node) {
    ir::Node copy = node;
    for (ir::ValueId& id : copy.inputs)
      if (id != ir::kNoValue) id = read(id);
    for (ir::ValueId& id : copy.outputs)
      if (id != ir::kNoValue) id = ids_[id] = island_.graph.add_value(whole_.value(id));
    island_.graph.nodes.push_back(std::move(copy));
  }

  void add_output(ir::ValueId id) {
    island_.outputs.push_back(id);
    island_.graph.outputs.push_back(ids_.at(id));
  }

  Island take() { return std::move(island_); }

 private:
  ir::ValueId read(ir::ValueId id) {
    if (const auto found = ids_.find(id); found != ids_.end()) return found->second;
    const ir::ValueId inner = ids_[id] = island_.graph.add_value(whole_.value(id));
    if (!whole_.value(id).constant) {
      island_.graph.inputs.push_back(inner);
      island_.inputs.push_back(id);
    }
    return inner;
  }

  const ir::Graph& whole_;
  Island island_;
  std::map<ir::ValueId, ir::ValueId> ids_;
};

}  // namespace

std::vector<Island> split_islands(const ir::Graph& graph) {
  // Even levels hold compiled parts, odd ones the others.
  std::vector<std::size_t> level_of_value(graph.values.size(), 0);
  std::vector<std::size_t> level_of_node;
  std::size_t levels = 0;
  for (const ir::Node& node : graph.nodes) {
    const std::size_t kind = static_shapes(graph, node) ? 0 : 1;
    std::size_t level = kind;
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNoValue) level = std::max(level, level_of_value[static_cast<std::size_t>(id)]);
    if (level % 2 != kind) ++level;
    for (const ir::ValueId id : node.outputs)
      if (id != ir::kNoValue) level_of_value[static_cast<std::size_t>(id)] = level;
    level_of_node.push_back(level);
    levels = std::max(levels, level + 1);
  }
  std::vector<IslandBuilder> builders;
  for (std::size_t i = 0; i < levels; ++i) builders.emplace_back(graph, i % 2 == 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) builders[level_of_node[i]].add(graph.nodes[i]);
  // What another island or the caller reads.
  const ir::Uses uses(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const ir::ValueId id : graph.nodes[i].outputs) {
      if (id == ir::kNoValue) continue;
      const std::vector<ir::Uses::Use>& readers = uses.of(id);
      const bool outside =
          uses.is_output(id) || std::any_of(readers.begin(), readers.end(), [&](const ir::Uses::Use& use) {
            return level_of_node[use.node] != level_of_node[i];
          });
      if (outside) builders[level_of_node[i]].add_output(id);
    }
  std::vector<Island> islands;
  for (IslandBuilder& builder : builders)
    if (Island island = builder.take(); !island.graph.nodes.empty()) islands.push_back(std::move(island));
  return islands;
}

}  // namespace saccade::compiler
