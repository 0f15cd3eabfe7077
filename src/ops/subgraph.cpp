#include "ops/subgraph.h"

#include <algorithm>
#include <cstring>

#include "ops/budget.h"
#include "ops/indexing.h"
#include "ops/infer.h"
#include "saccade/error.h"

namespace saccade::ops {

const ir::Graph& subgraph(const NodeView& context, std::string_view attribute, std::size_t inputs) {
  const std::shared_ptr<const ir::Graph> graph = context.node().graph(attribute);
  if (graph == nullptr) context.fail("attribute '" + std::string(attribute) + "' is missing");
  if (graph->inputs.size() != inputs)
    context.fail("the graph '" + std::string(attribute) + "' has " + std::to_string(graph->inputs.size()) +
                 " inputs, " + std::to_string(inputs) + " are given");
  return *graph;  // the node keeps it alive
}

std::optional<std::vector<TensorType>> infer_subgraph(const NodeView& context, const ir::Graph& graph,
                                                      std::span<const TensorType> types,
                                                      std::span<const Tensor* const> data) {
  Budget own{LoadLimits{}};
  ir::Graph typed = graph;
  for (std::size_t i = 0; i < typed.inputs.size(); ++i) {
    ir::Value& value = typed.value(typed.inputs[i]);
    value.dtype = types[i].dtype;
    value.shape = types[i].shape;
    value.dim_names.clear();
    if (i < data.size() && data[i] != nullptr) value.constant = *data[i];
  }
  infer_graph(typed, context.budget() != nullptr ? context.budget() : &own);
  std::vector<TensorType> outputs;
  for (const ir::ValueId id : typed.outputs) {
    const ir::Value& value = typed.value(id);
    const bool known = value.shape && std::none_of(value.shape->begin(), value.shape->end(),
                                                   [](std::int64_t dim) { return dim < 0; });
    if (!known) return std::nullopt;
    outputs.push_back({value.dtype, *value.shape});
  }
  return outputs;
}

std::vector<Tensor> run_subgraph(const NodeView& context, const ir::Graph& graph,
                                 std::span<const Tensor> inputs) {
  Budget own{LoadLimits{}};
  Budget& budget = context.budget() != nullptr ? *context.budget() : own;
  std::vector<Tensor> values(graph.values.size());
  std::vector<std::size_t> reads(graph.values.size(), 0);
  const auto at = [](ir::ValueId id) { return static_cast<std::size_t>(id); };
  for (const ir::Node& node : graph.nodes)
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNoValue) ++reads[at(id)];
  for (const ir::ValueId id : graph.outputs) ++reads[at(id)];
  for (std::size_t i = 0; i < values.size(); ++i)
    if (graph.values[i].constant) values[i] = *graph.values[i].constant;
  const auto keep = [&](ir::ValueId id, Tensor tensor) {
    budget.hold(tensor);
    values[at(id)] = std::move(tensor);
  };
  const auto drop = [&](ir::ValueId id) {
    if (!graph.value(id).constant) budget.release(values[at(id)]);
    values[at(id)] = Tensor();
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) keep(graph.inputs[i], inputs[i]);
  for (const ir::Node& node : graph.nodes) {
    std::vector<const Tensor*> operands;
    for (const ir::ValueId id : node.inputs)
      operands.push_back(id == ir::kNoValue ? nullptr : &values[at(id)]);
    std::vector<Tensor> results = evaluate_node(node, graph, operands, &budget);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNoValue && reads[at(node.outputs[i])] > 0)
        keep(node.outputs[i], std::move(results.at(i)));
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNoValue && --reads[at(id)] == 0) drop(id);
  }
  std::vector<Tensor> outputs;
  for (const ir::ValueId id : graph.outputs) outputs.push_back(values[at(id)]);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!graph.values[i].constant) budget.release(values[i]);
  return outputs;
}

void check_iteration(const NodeView& context, std::int64_t i) {
  (context.budget() != nullptr ? *context.budget() : Budget(LoadLimits{})).check_iteration(i);
}

bool condition(const NodeView& context, std::size_t input) {
  const Tensor& tensor = context.needed(input);
  if (tensor.dtype() != DType::boolean || tensor.count() != 1)
    context.fail("the condition must be one bool, is " + std::string(dtype_name(tensor.dtype())) + " " +
                 shape_string(tensor.shape()));
  return *tensor.data<bool>();
}

Stack::Stack(const NodeView& context, std::int64_t axis, TensorType type)
    : context_(context), axis_(axis), type_(std::move(type)) {}

Stack::~Stack() {
  if (context_.budget() == nullptr) return;
  for (const Tensor& part : parts_) context_.budget()->release(part);
}

void Stack::push(Tensor part) {
  if (!parts_.empty() && (part.shape() != parts_[0].shape() || part.dtype() != parts_[0].dtype()))
    context_.mismatch("an iteration gives " + shape_string(part.shape()) + ", an earlier one gave " +
                      shape_string(parts_[0].shape()) + "; they cannot be stacked");
  if (context_.budget() != nullptr) context_.budget()->hold(part);
  parts_.push_back(std::move(part));
}

Tensor Stack::join(bool reversed) const {
  const Shape& one = parts_.empty() ? type_.shape : parts_[0].shape();
  const std::size_t axis = normalize_axis(context_, axis_, one.size() + 1);
  Shape shape = one;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(parts_.size()));
  Tensor result(parts_.empty() ? type_.dtype : parts_[0].dtype(), shape);
  const std::size_t row =
      static_cast<std::size_t>(product(one, axis, one.size())) * dtype_size(result.dtype());
  const std::int64_t rows = product(one, 0, axis);
  auto* to = static_cast<std::byte*>(result.raw());
  for (std::int64_t r = 0; r < rows && row > 0; ++r)
    for (std::size_t i = 0; i < parts_.size(); ++i, to += row) {
      const Tensor& part = parts_[reversed ? parts_.size() - 1 - i : i];
      std::memcpy(to, static_cast<const std::byte*>(part.raw()) + static_cast<std::size_t>(r) * row, row);
    }
  return result;
}

Tensor slice_of(const Tensor& tensor, std::size_t axis, std::int64_t i) {
  Shape shape = tensor.shape();
  const std::int64_t count = shape[axis];
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  Tensor result(tensor.dtype(), shape);
  const std::size_t row =
      static_cast<std::size_t>(product(shape, axis, shape.size())) * dtype_size(tensor.dtype());
  const std::int64_t rows = product(shape, 0, axis);
  for (std::int64_t r = 0; r < rows && row > 0; ++r)
    std::memcpy(static_cast<std::byte*>(result.raw()) + static_cast<std::size_t>(r) * row,
                static_cast<const std::byte*>(tensor.raw()) + static_cast<std::size_t>(r * count + i) * row,
                row);
  return result;
}

}  // namespace saccade::ops
