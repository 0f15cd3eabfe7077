#include "compiler/edit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/infer.h"

namespace saccade::compiler {

using ir::kNoValue;
using ir::Node;
using ir::ValueId;

Edit::Edit(ir::Graph& graph)
    : graph_(graph),
      uses_(graph),
      count_(graph.nodes.size()),
      values_(graph.values.size()),
      touched_(count_, false),
      removed_(count_, false),
      before_(count_ + 1),
      moved_(count_ + 1),
      moves_(count_, false) {}

ValueId Edit::insert(std::size_t position, Node node, std::size_t output_count) {
  const auto first = static_cast<ValueId>(graph_.values.size());
  for (std::size_t i = 0; i < output_count; ++i) {
    ir::Value value;
    value.name = node.name + (i == 0 ? "" : ":" + std::to_string(i));
    node.outputs.push_back(graph_.add_value(std::move(value)));
  }
  infer_outputs(graph_, node);
  before_.at(position).push_back(std::move(node));
  changed_ = true;
  return first;
}

void Edit::remove(std::size_t node) {
  removed_[node] = true;
  touched_[node] = true;
  changed_ = true;
}

void Edit::redirect(ValueId from, ValueId to) {
  redirects_.emplace_back(from, to);
  changed_ = true;
}

void Edit::replace(std::size_t node, ValueId to) {
  redirect(graph_.nodes[node].outputs[0], to);
  remove(node);
}

void Edit::move_before(std::size_t node, std::size_t position) {
  moves_[node] = true;
  moved_.at(position).push_back(node);
  touched_[node] = true;
  changed_ = true;
}

std::optional<std::size_t> Edit::producer(ValueId id, std::string_view op) const {
  if (!in_snapshot(id)) return std::nullopt;
  const std::int64_t index = uses_.producer(id);
  if (index < 0) return std::nullopt;
  const auto node = static_cast<std::size_t>(index);
  if (touched_[node] || (!op.empty() && graph_.nodes[node].op != op)) return std::nullopt;
  return node;
}

std::optional<ir::Uses::Use> Edit::only_use(ValueId id) const {
  if (!in_snapshot(id) || !uses_.single(id)) return std::nullopt;
  const ir::Uses::Use use = uses_.of(id).front();
  if (touched_[use.node]) return std::nullopt;
  return use;
}

bool Edit::commit() {
  if (!changed_) return false;
  std::vector<ValueId> target(graph_.values.size());
  for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<ValueId>(i);
  for (const auto& [from, to] : redirects_) target[static_cast<std::size_t>(from)] = to;
  const auto resolve = [&](ValueId id) {
    while (id != kNoValue && target[static_cast<std::size_t>(id)] != id)
      id = target[static_cast<std::size_t>(id)];
    return id;
  };
  std::vector<Node> nodes;
  nodes.reserve(count_);
  for (std::size_t i = 0; i <= count_; ++i) {
    // What was inserted may feed what was moved here, and the other way round: moved nodes go last unless an
    // inserted node reads them; passes never mix the two at one position.
    for (Node& node : before_[i]) nodes.push_back(std::move(node));
    for (const std::size_t moved : moved_[i])
      if (!removed_[moved]) nodes.push_back(std::move(graph_.nodes[moved]));
    if (i < count_ && !removed_[i] && !moves_[i]) nodes.push_back(std::move(graph_.nodes[i]));
  }
  for (Node& node : nodes)
    for (ValueId& id : node.inputs) id = resolve(id);
  for (ValueId& id : graph_.outputs) id = resolve(id);
  graph_.nodes = std::move(nodes);
  return true;
}

const Shape* known_shape(const ir::Graph& graph, ValueId id) {
  if (id == kNoValue) return nullptr;
  const std::optional<Shape>& shape = graph.value(id).shape;
  if (!shape) return nullptr;
  for (const std::int64_t dim : *shape)
    if (dim < 0) return nullptr;
  return &*shape;
}

bool adds_equal_shapes(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "Add" || node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return false;
  const Shape* a = known_shape(graph, node.inputs[0]);
  const Shape* b = known_shape(graph, node.inputs[1]);
  return a != nullptr && b != nullptr && *a == *b;
}

std::optional<float> scalar_constant(const ir::Graph& graph, ValueId id) {
  const Tensor* tensor = graph.constant(id);
  if (tensor == nullptr || tensor->dtype() != DType::f32 || tensor->count() != 1) return std::nullopt;
  return tensor->data<float>()[0];
}

bool integer_weights(const Tensor& weights) {
  if (weights.dtype() != DType::f32) return false;
  bool large = false;
  for (const float w : weights.values<float>()) {
    if (w != std::nearbyint(w)) return false;
    large = large || std::abs(w) > 1;
  }
  return large;
}

std::optional<std::vector<std::int64_t>> integer_constant(const ir::Graph& graph, ValueId id) {
  const Tensor* tensor = graph.constant(id);
  if (tensor == nullptr) return std::nullopt;
  std::vector<std::int64_t> values;
  if (tensor->dtype() == DType::i64) {
    for (const std::int64_t v : tensor->values<std::int64_t>()) values.push_back(v);
  } else if (tensor->dtype() == DType::i32) {
    for (const std::int32_t v : tensor->values<std::int32_t>()) values.push_back(v);
  } else {
    return std::nullopt;
  }
  return values;
}

std::optional<std::vector<float>> per_axis_constant(const ir::Graph& graph, ValueId id, const Shape& shape,
                                                    std::size_t axis) {
  const Tensor* tensor = graph.constant(id);
  if (tensor == nullptr || tensor->dtype() != DType::f32 || tensor->rank() > shape.size())
    return std::nullopt;
  const auto length = static_cast<std::size_t>(shape[axis]);
  if (tensor->count() == 1) return std::vector<float>(length, tensor->data<float>()[0]);
  const std::size_t lead = shape.size() - tensor->rank();
  for (std::size_t i = 0; i < tensor->rank(); ++i) {
    const std::int64_t want = lead + i == axis ? shape[axis] : 1;
    if (tensor->dim(i) != want) return std::nullopt;
  }
  const std::span<const float> values = tensor->values<float>();
  return std::vector<float>(values.begin(), values.end());
}

ir::ValueId insert_reshape(Edit& edit, std::size_t position, const std::string& name, ir::ValueId x,
                           const Shape& shape) {
  if (const Shape* known = known_shape(edit.graph(), x); known != nullptr && *known == shape) return x;
  const ir::ValueId target = add_integers(edit.graph(), name + ":shape", shape);
  ir::Node node{name, "Reshape", {x, target}, {}, {}};
  // A dimension of 0 is meant, and not that of x.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) node.attributes["allowzero"] = std::int64_t{1};
  return edit.insert(position, std::move(node));
}

ir::ValueId insert_transpose(Edit& edit, std::size_t position, const std::string& name, ir::ValueId x,
                             const std::vector<std::int64_t>& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return edit.insert(position, ir::Node{name, "Transpose", {x}, {}, {{"perm", perm}}});
}

ValueId add_integers(ir::Graph& graph, const std::string& name, const std::vector<std::int64_t>& values) {
  return graph.add_constant(
      name, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, std::span(values)));
}

ValueId add_floats(ir::Graph& graph, const std::string& name, Shape shape, const std::vector<float>& values) {
  return graph.add_constant(name, Tensor::of<float>(std::move(shape), std::span(values)));
}

void infer_outputs(ir::Graph& graph, const Node& node) {
  std::vector<ops::TensorType> types(node.inputs.size());
  std::vector<const ops::TensorType*> inputs(node.inputs.size(), nullptr);
  std::vector<const Tensor*> constants(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Shape* shape = known_shape(graph, node.inputs[i]);
    if (shape == nullptr) return;
    types[i] = {graph.value(node.inputs[i]).dtype, *shape};
    inputs[i] = &types[i];
    constants[i] = graph.constant(node.inputs[i]);
  }
  ops::Budget budget(graph.limits);
  const std::optional<std::vector<ops::TensorType>> outputs =
      ops::infer_node(node, inputs, constants, &budget);
  if (!outputs) return;
  for (std::size_t i = 0; i < node.outputs.size() && i < outputs->size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    ir::Value& value = graph.value(node.outputs[i]);
    value.dtype = (*outputs)[i].dtype;
    value.shape = (*outputs)[i].shape;
    value.dim_names.clear();
  }
}

void compact(ir::Graph& graph) {
  std::vector<bool> keep(graph.values.size(), false);
  const auto mark = [&](ValueId id) {
    if (id != kNoValue) keep[static_cast<std::size_t>(id)] = true;
  };
  for (const ValueId id : graph.inputs) mark(id);
  for (const ValueId id : graph.outputs) mark(id);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) mark(id);
    for (const ValueId id : node.outputs) mark(id);
  }
  std::vector<ValueId> renamed(graph.values.size(), kNoValue);
  std::vector<ir::Value> values;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!keep[i]) continue;
    renamed[i] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[i]));
  }
  const auto rename = [&](ValueId& id) {
    if (id != kNoValue) id = renamed[static_cast<std::size_t>(id)];
  };
  for (ValueId& id : graph.inputs) rename(id);
  for (ValueId& id : graph.outputs) rename(id);
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) rename(id);
    for (ValueId& id : node.outputs) rename(id);
  }
  graph.values = std::move(values);
}

}  // namespace saccade::compiler
