#include "compiler/passes/inline_branches.h"

#include <map>
#include <optional>

#include "ops/infer.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

/// Appends the branch's nodes to `nodes`; an Identity gives each of its results the name that it has outside.
void append_branch(ir::Graph& graph, const ir::Node& node, bool condition, std::vector<ir::Node>& nodes) {
  const std::shared_ptr<const ir::Graph> then_branch = node.graph("then_branch"),
                                         branch = condition ? then_branch : node.graph("else_branch");
  const std::size_t first = condition ? 1 : 1 + then_branch->inputs.size();
  std::map<ir::ValueId, ir::ValueId> ids;
  for (std::size_t i = 0; i < branch->inputs.size(); ++i) ids[branch->inputs[i]] = node.inputs.at(first + i);
  const auto outer = [&](ir::ValueId id) {
    if (id == ir::kNoValue) return id;
    const auto [found, fresh] = ids.emplace(id, ir::kNoValue);
    if (fresh) {
      ir::Value value = branch->value(id);
      value.name = node.name + "/" + value.name;
      found->second = graph.add_value(std::move(value));
    }
    return found->second;
  };
  for (const ir::Node& inner : branch->nodes) {
    ir::Node copy = inner;
    copy.name = node.name + "/" + inner.name;
    for (ir::ValueId& id : copy.inputs) id = outer(id);
    for (ir::ValueId& id : copy.outputs) id = outer(id);
    nodes.push_back(std::move(copy));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != ir::kNoValue)
      nodes.push_back({node.name, "Identity", {outer(branch->outputs.at(i))}, {node.outputs[i]}, {}});
}

bool inline_once(ir::Graph& graph) {
  const std::vector<std::optional<Tensor>> known = ops::infer_graph(graph);
  bool changed = false;
  std::vector<ir::Node> nodes;
  std::vector<ir::Node> before = std::move(graph.nodes);
  for (ir::Node& node : before) {
    const Tensor* condition = nullptr;
    if (node.op == "If" && known[static_cast<std::size_t>(node.inputs[0])])
      condition = &*known[static_cast<std::size_t>(node.inputs[0])];
    if (condition == nullptr || condition->dtype() != DType::boolean || condition->count() != 1) {
      nodes.push_back(std::move(node));
      continue;
    }
    append_branch(graph, node, *condition->data<bool>(), nodes);
    changed = true;
  }
  graph.nodes = std::move(nodes);
  return changed;
}

bool has_branches(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes)
    if (node.op == "If") return true;
  return false;
}

}  // namespace

void inline_branches(ir::Graph& graph) {
  while (has_branches(graph) && inline_once(graph)) {
  }
}

}  // namespace saccade::compiler
