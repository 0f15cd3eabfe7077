#include "ir/graph.h"

#include <algorithm>

#include "saccade/error.h"

namespace saccade::ir {

namespace {

template <class T>
const T* attribute(const Node& node, std::string_view key, const char* wanted) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return nullptr;
  if (const T* value = std::get_if<T>(&found->second)) return value;
  throw Error(ErrorCode::invalid_model, "node '" + node.name + "' (" + node.op + "): attribute '" +
                                            std::string(key) + "' is not " + wanted);
}

}  // namespace

std::int64_t Node::integer(std::string_view key, std::int64_t otherwise) const {
  const auto* value = attribute<std::int64_t>(*this, key, "an integer");
  return value != nullptr ? *value : otherwise;
}

float Node::real(std::string_view key, float otherwise) const {
  const auto* value = attribute<float>(*this, key, "a number");
  return value != nullptr ? *value : otherwise;
}

std::string Node::text(std::string_view key, std::string_view otherwise) const {
  const auto* value = attribute<std::string>(*this, key, "a string");
  return value != nullptr ? *value : std::string(otherwise);
}

std::vector<std::int64_t> Node::integers(std::string_view key,
                                         const std::vector<std::int64_t>& otherwise) const {
  const auto* value = attribute<std::vector<std::int64_t>>(*this, key, "a list of integers");
  return value != nullptr ? *value : otherwise;
}

std::vector<float> Node::reals(std::string_view key, const std::vector<float>& otherwise) const {
  const auto* value = attribute<std::vector<float>>(*this, key, "a list of numbers");
  return value != nullptr ? *value : otherwise;
}

const Tensor* Node::tensor(std::string_view key) const { return attribute<Tensor>(*this, key, "a tensor"); }

std::shared_ptr<const Graph> Node::graph(std::string_view key) const {
  const auto* value = attribute<std::shared_ptr<const Graph>>(*this, key, "a graph");
  return value != nullptr ? *value : nullptr;
}

std::string describe(const Node& node, const Graph& graph) {
  std::string name = node.name;
  if (name.empty()) {
    const auto named =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != kNoValue; });
    if (named != node.outputs.end()) name = graph.value(*named).name;
  }
  return "node '" + name + "' (" + node.op + ")";
}

ValueId Graph::add_value(Value new_value) {
  values.push_back(std::move(new_value));
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::add_constant(std::string value_name, Tensor tensor) {
  Value v;
  v.name = std::move(value_name);
  v.dtype = tensor.dtype();
  v.shape = tensor.shape();
  v.constant = std::move(tensor);
  return add_value(std::move(v));
}

ValueId Graph::add_node(Node node, std::size_t output_count) {
  const auto first = static_cast<ValueId>(values.size());
  for (std::size_t i = 0; i < output_count; ++i) {
    Value v;
    v.name = node.name + (i == 0 ? "" : ":" + std::to_string(i));
    node.outputs.push_back(add_value(std::move(v)));
  }
  nodes.push_back(std::move(node));
  return first;
}

const Tensor* Graph::constant(ValueId id) const {
  if (id == kNoValue) return nullptr;
  const std::optional<Tensor>& tensor = value(id).constant;
  return tensor ? &*tensor : nullptr;
}

const Tensor* Graph::constant_input(const Node& node, std::size_t slot) const {
  return node.has_input(slot) ? constant(node.inputs[slot]) : nullptr;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(outputs.begin(), outputs.end(), from, to);
}

Uses::Uses(const Graph& graph)
    : uses_(graph.values.size()), producers_(graph.values.size(), -1), outputs_(graph.values.size(), false) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot)
      if (node.inputs[slot] != kNoValue)
        uses_.at(static_cast<std::size_t>(node.inputs[slot])).push_back({n, slot});
    for (const ValueId id : node.outputs)
      if (id != kNoValue) producers_.at(static_cast<std::size_t>(id)) = static_cast<std::int64_t>(n);
  }
  for (const ValueId id : graph.outputs) outputs_.at(static_cast<std::size_t>(id)) = true;
}

}  // namespace saccade::ir
