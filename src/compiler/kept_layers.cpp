#include "compiler/kept_layers.h"

#include <set>
#include <string_view>
#include <unordered_map>

namespace saccade::compiler {

namespace {

using ir::kNoValue;
using ir::Node;
using ir::ValueId;

// Values and nodes are known again by their names: passes renumber them.
class Follower {
 public:
  Follower(const ir::Graph& before, const ir::Graph& after) : before_(before), after_(after), uses_(before) {
    for (const Node& node : after.nodes) {
      nodes_.emplace(layer_name(after, node), &node);
      for (const ValueId id : node.outputs)
        if (id != kNoValue) makers_.emplace(after.value(id).name, &node);
    }
  }

  // Adds to `found` who does what `node` did.
  void follow(const Node& node, std::set<std::string>& found) {
    if (nodes_.contains(layer_name(before_, node))) return;  // still there
    for (const ValueId id : node.outputs)
      if (id != kNoValue && seen_.insert(id).second) follow(id, found);
  }

 private:
  void follow(ValueId id, std::set<std::string>& found) {
    const auto maker = makers_.find(before_.value(id).name);
    if (maker != makers_.end()) return add(maker->second, found);
    for (std::size_t i = 0; i < before_.outputs.size() && i < after_.outputs.size(); ++i)
      if (before_.outputs[i] == id) add_maker_of(after_.outputs[i], found);
    for (const ir::Uses::Use& use : uses_.of(id)) {
      const Node& reader = before_.nodes[use.node];
      const auto same = nodes_.find(layer_name(before_, reader));
      // Went into what its reader reads now, or into its reader, which went somewhere itself.
      if (same == nodes_.end())
        follow(reader, found);
      else if (same->second->op != reader.op)
        add(same->second, found);
      else if (use.slot < same->second->inputs.size())
        add_maker_of(same->second->inputs[use.slot], found);
    }
  }
  void add_maker_of(ValueId id, std::set<std::string>& found) {
    if (id == kNoValue) return;
    const auto maker = makers_.find(after_.value(id).name);
    if (maker != makers_.end()) add(maker->second, found);
  }
  void add(const Node* node, std::set<std::string>& found) { found.insert(layer_name(after_, *node)); }

  const ir::Graph& before_;
  const ir::Graph& after_;
  ir::Uses uses_;
  std::unordered_map<std::string_view, const Node*> nodes_, makers_;
  std::set<ValueId> seen_;
};

}  // namespace

const std::string& layer_name(const ir::Graph& graph, const Node& node) {
  return node.name.empty() && !node.outputs.empty() && node.outputs[0] != kNoValue
             ? graph.value(node.outputs[0]).name
             : node.name;
}

std::vector<std::string> follow_layers(const std::vector<std::string>& names, const ir::Graph& before,
                                       const ir::Graph& after) {
  if (names.empty()) return names;
  const std::set<std::string> wanted(names.begin(), names.end());
  std::set<std::string> found = wanted;
  Follower follower(before, after);
  for (const Node& node : before.nodes)
    if (wanted.contains(layer_name(before, node))) follower.follow(node, found);
  return {found.begin(), found.end()};
}

}  // namespace saccade::compiler
