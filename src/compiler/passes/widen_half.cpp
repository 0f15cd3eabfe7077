#include "compiler/passes/widen_half.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>

#include "ops/convert.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

bool stays(const ir::Graph& graph) {
  if (std::none_of(graph.values.begin(), graph.values.end(),
                   [](const ir::Value& value) { return is_half(value.dtype); }))
    return true;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const auto is_graph = [](const auto& attribute) {
      return std::holds_alternative<std::shared_ptr<const ir::Graph>>(attribute.second);
    };
    // What makes numbers of a type, or takes their bits, is what it is because of the type.
    return node.op == "BitCast" || node.op.starts_with("Random") ||
           std::any_of(node.attributes.begin(), node.attributes.end(), is_graph);
  });
}

// Types and tensors of halves in attributes.
void widen_attributes(Node& node) {
  for (auto& [key, attribute] : node.attributes) {
    if (auto* text = std::get_if<std::string>(&attribute))
      for (const DType half : {DType::f16, DType::bf16})
        if (*text == dtype_name(half)) *text = std::string(dtype_name(DType::f32));
    if (auto* tensor = std::get_if<Tensor>(&attribute); tensor != nullptr && is_half(tensor->dtype()))
      *tensor = ops::convert(*tensor, DType::f32);
  }
}

Node cast(std::string name, ValueId from, ValueId to, DType dtype) {
  return {std::move(name), "Cast", {from}, {to}, {{"to", std::string(dtype_name(dtype))}}};
}

// A value like `id`, in f32.
ValueId wide_like(ir::Graph& graph, ValueId id) {
  ir::Value value = graph.value(id);
  value.dtype = DType::f32;
  value.name += ":wide";
  return graph.add_value(std::move(value));
}

}  // namespace

void widen_half(ir::Graph& graph) {
  if (stays(graph)) return;
  // What comes in, and what goes out, as halves; constants that go out do as they are.
  std::map<ValueId, ValueId> wide;
  std::vector<Node> first, last;
  for (const ValueId id : graph.inputs) {
    if (!is_half(graph.value(id).dtype) || wide.contains(id)) continue;
    const ValueId made = wide_like(graph, id);
    wide[id] = made;
    first.push_back(cast(graph.value(made).name, id, made, DType::f32));
  }
  for (const ValueId id : graph.outputs) {
    if (!is_half(graph.value(id).dtype) || wide.contains(id)) continue;
    const DType dtype = graph.value(id).dtype;
    const ValueId made = wide_like(graph, id);
    wide[id] = made;
    if (graph.constant(id) == nullptr) last.push_back(cast(graph.value(made).name, made, id, dtype));
  }
  std::vector<bool> kept(graph.values.size(), false);
  for (const auto& [half, made] : wide) kept[static_cast<std::size_t>(half)] = true;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    ir::Value& value = graph.values[i];
    if (kept[i]) continue;
    if (value.constant && is_half(value.constant->dtype()))
      value.constant = ops::convert(*value.constant, DType::f32);
    if (is_half(value.dtype)) value.dtype = DType::f32;
  }
  const auto renamed = [&](ValueId& id) {
    if (const auto found = wide.find(id); found != wide.end()) id = found->second;
  };
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) renamed(id);
    for (ValueId& id : node.outputs) renamed(id);
    widen_attributes(node);
    const bool same = node.op == "Cast" && graph.value(node.inputs[0]).dtype == DType::f32 &&
                      graph.value(node.outputs[0]).dtype == DType::f32;
    if (same) node = {node.name, "Identity", node.inputs, node.outputs, {}};
  }
  graph.nodes.insert(graph.nodes.begin(), first.begin(), first.end());
  graph.nodes.insert(graph.nodes.end(), last.begin(), last.end());
}

}  // namespace saccade::compiler
