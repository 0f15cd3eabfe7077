#include "ops/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/verify.h"
#include "ops/convert.h"
#include "ops/subgraph.h"
#include "saccade/error.h"

namespace saccade::ops {

namespace {

/// Shape arithmetic deals in a few numbers; anything larger is data and is left to the compiler's folding.
constexpr std::int64_t kMostFoldedElements = 1 << 16;
constexpr std::int64_t kMostFoldedWork = 1 << 24;

std::string describe(const ir::Node& node) { return "node '" + node.name + "' (" + node.op + ")"; }

/// Runs `body`; an Error leaves with the node's name in front, unless it already names a node.
template <class Body>
auto naming(const std::string& where, Body body) {
  try {
    return body();
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with("node '")) throw;
    throw e.within(where);
  }
}

std::string range_text(int least, int most) {
  if (most < 0) return "at least " + std::to_string(least);
  if (least == most) return std::to_string(least);
  return std::to_string(least) + " to " + std::to_string(most);
}

void check_arity(const OpDef& op, const ir::Node& node) {
  const auto check = [](const char* what, std::size_t have, int least, int most) {
    if (have < static_cast<std::size_t>(least) || (most >= 0 && have > static_cast<std::size_t>(most)))
      throw Error(ErrorCode::invalid_model,
                  "has " + std::to_string(have) + " " + what + ", expected " + range_text(least, most));
  };
  check("inputs", node.inputs.size(), op.min_inputs, op.max_inputs);
  check("outputs", node.outputs.size(), op.min_outputs, op.max_outputs);
  for (int i = 0; i < op.min_inputs; ++i)
    if (!node.has_input(static_cast<std::size_t>(i)))
      throw Error(ErrorCode::invalid_model, "input " + std::to_string(i) + " is missing");
}

const char* kind_name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer:
      return "an integer";
    case AttributeKind::real:
      return "a number";
    case AttributeKind::text:
      return "a string";
    case AttributeKind::integers:
      return "a list of integers";
    case AttributeKind::reals:
      return "a list of numbers";
    case AttributeKind::texts:
      return "a list of strings";
    case AttributeKind::tensor:
      return "a tensor";
    case AttributeKind::graph:
      return "a graph";
  }
  return "";
}

void check_attributes(const OpDef& op, const ir::Node& node) {
  for (const auto& [key, value] : node.attributes) {
    const auto def = std::find_if(op.attributes.begin(), op.attributes.end(),
                                  [&](const AttributeDef& a) { return a.name == key; });
    if (def == op.attributes.end()) throw Error(ErrorCode::invalid_model, "unknown attribute '" + key + "'");
    // Attribute's alternatives stand in the order of AttributeKind.
    if (value.index() != static_cast<std::size_t>(def->kind))
      throw Error(ErrorCode::invalid_model, "attribute '" + key + "' is not " + kind_name(def->kind));
  }
  for (const AttributeDef& def : op.attributes)
    if (def.required && !node.has(def.name))
      throw Error(ErrorCode::invalid_model, "attribute '" + std::string(def.name) + "' is missing");
}

void count_unknown(const ir::Graph& graph, std::map<std::string, int>& unknown) {
  for (const ir::Node& node : graph.nodes) {
    if (find(node.op) == nullptr) ++unknown[node.op];
    for (const auto& [key, value] : node.attributes)
      if (const auto* subgraph = std::get_if<std::shared_ptr<const ir::Graph>>(&value); subgraph && *subgraph)
        count_unknown(**subgraph, unknown);
  }
}

void verify_nodes(const ir::Graph& graph) {
  ir::verify(graph);
  for (const ir::Node& node : graph.nodes) {
    const std::string where = ir::describe(node, graph);
    naming(where, [&] {
      const OpDef& op = *find(node.op);
      check_arity(op, node);
      check_attributes(op, node);
    });
    for (const auto& [key, value] : node.attributes)
      if (const auto* subgraph = std::get_if<std::shared_ptr<const ir::Graph>>(&value)) {
        if (!*subgraph)
          throw Error(ErrorCode::invalid_model, fmt::format("{}: attribute '{}' holds no graph", where, key));
        verify_nodes(**subgraph);
      }
  }
}

const OpDef& known_operator(const ir::Node& node) {
  const OpDef* op = find(node.op);
  if (op == nullptr) throw Error(ErrorCode::unsupported, "operator '" + node.op + "' is not known");
  return *op;
}

/// The shape rule alone; errors do not name the node yet.
std::optional<std::vector<TensorType>> apply_rule(const ir::Node& node,
                                                  std::span<const TensorType* const> inputs,
                                                  std::span<const Tensor* const> constants, Budget& budget) {
  const OpDef& op = known_operator(node);
  check_arity(op, node);
  if (op.infer == nullptr) return std::nullopt;
  budget.spend(kNodeWork);
  InferContext context(node, inputs, constants, &budget);
  try {
    op.infer(context);
  } catch (const UnknownShape&) {
    return std::nullopt;
  }
  for (const TensorType& type : context.outputs()) budget.check(type);
  return std::move(context.outputs());
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Runs the kernel on given types and data. f16 and bf16 are computed in f32, except where the kernel only
/// moves data.
std::vector<Tensor> run_kernel(const ir::Node& node, std::span<const TensorType* const> types,
                               std::span<const Tensor* const> data, std::span<const TensorType> output_types,
                               Budget& budget) {
  const OpDef& op = known_operator(node);
  if (op.evaluate == nullptr)
    throw Error(ErrorCode::unsupported, "this operator cannot be evaluated on its own");
  budget.spend(node_work(node, types, output_types));
  budget.check_room(output_types);
  const auto half_input = [](const TensorType* type) { return type != nullptr && is_half(type->dtype); };
  const auto half_output = [](const TensorType& type) { return is_half(type.dtype); };
  const bool half = std::any_of(types.begin(), types.end(), half_input) ||
                    std::any_of(output_types.begin(), output_types.end(), half_output);
  if (!half || op.is(kNativeHalf)) {
    EvalContext context(node, types, data, output_types, &budget);
    op.evaluate(context);
    return std::move(context.outputs());
  }
  std::vector<TensorType> wide_types(types.size());
  std::vector<Tensor> wide_data(types.size());
  std::vector<const TensorType*> type_pointers(types.size(), nullptr);
  std::vector<const Tensor*> data_pointers(types.size(), nullptr);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == nullptr) continue;
    wide_types[i] = {is_half(types[i]->dtype) ? DType::f32 : types[i]->dtype, types[i]->shape};
    type_pointers[i] = &wide_types[i];
    if (i >= data.size() || data[i] == nullptr) continue;
    wide_data[i] = is_half(types[i]->dtype) ? convert(*data[i], DType::f32) : *data[i];
    data_pointers[i] = &wide_data[i];
  }
  std::vector<TensorType> wide_outputs(output_types.begin(), output_types.end());
  for (TensorType& type : wide_outputs)
    if (is_half(type.dtype)) type.dtype = DType::f32;
  EvalContext context(node, type_pointers, data_pointers, wide_outputs, &budget);
  op.evaluate(context);
  std::vector<Tensor> outputs = std::move(context.outputs());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (is_half(output_types[i].dtype) && !outputs[i].empty())
      outputs[i] = convert(outputs[i], output_types[i].dtype);
  return outputs;
}

std::vector<Tensor> evaluate(const ir::Node& node, std::span<const Tensor* const> inputs, Budget& budget) {
  std::vector<TensorType> types(inputs.size());
  std::vector<const TensorType*> type_pointers(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    types[i] = {inputs[i]->dtype(), inputs[i]->shape()};
    type_pointers[i] = &types[i];
  }
  auto output_types = apply_rule(node, type_pointers, inputs, budget);
  if (!output_types && known_operator(node).is(kRunsGraph)) output_types.emplace(node.outputs.size());
  if (!output_types) throw Error(ErrorCode::unsupported, "this operator cannot be evaluated on its own");
  return run_kernel(node, type_pointers, inputs, *output_types, budget);
}

bool small(const TensorType& type) { return element_count(type.shape) <= kMostFoldedElements; }

/// Whether infer_graph may evaluate the node: everything it reads is known, and it is about a few numbers.
/// Graphs inside graphs are left alone: each level would run those below it several times.
bool folds(const ir::Node& node, std::span<const TensorType* const> types,
           std::span<const Tensor* const> data, std::span<const TensorType> outputs, bool nested) {
  const OpDef& op = known_operator(node);
  if (op.evaluate == nullptr || op.is(kNondeterministic) || (nested && op.is(kRunsGraph))) return false;
  if (!std::all_of(outputs.begin(), outputs.end(), small)) return false;
  if (op.is(kShapeArithmetic)) return true;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i] != nullptr && (data[i] == nullptr || !small(*types[i]))) return false;
  return node_work(node, types, outputs) <= kMostFoldedWork;
}

/// The results of a node that infer_graph evaluates; empty where a graph inside it turns out to be long.
std::vector<Tensor> fold(const ir::Node& node, std::span<const TensorType* const> types,
                         std::span<const Tensor* const> data, std::span<const TensorType> outputs,
                         const LoadLimits& limits) {
  LoadLimits few = limits;
  few.max_work = std::min(limits.max_work, kMostFoldedWork);
  Budget budget(few);
  try {
    return run_kernel(node, types, data, outputs, budget);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit || !known_operator(node).is(kRunsGraph)) throw;
    return {};
  }
}

}  // namespace

void verify(const ir::Graph& graph) {
  std::map<std::string, int> unknown;
  count_unknown(graph, unknown);
  if (!unknown.empty()) {
    std::string list;
    for (const auto& [op, count] : unknown)
      list += (list.empty() ? "" : ", ") + op + " (" + std::to_string(count) + ")";
    throw Error(ErrorCode::unsupported, "operators that are not supported: " + list);
  }
  verify_nodes(graph);
}

const OpDef& get(const ir::Node& node, const ir::Graph& graph) {
  const OpDef* op = find(node.op);
  if (op == nullptr)
    throw Error(ErrorCode::unsupported,
                ir::describe(node, graph) + ": operator '" + node.op + "' is not known");
  return *op;
}

std::optional<std::vector<TensorType>> infer_node(const ir::Node& node,
                                                  std::span<const TensorType* const> inputs,
                                                  std::span<const Tensor* const> constants, Budget* budget) {
  Budget own{LoadLimits{}};
  Budget& spent = budget != nullptr ? *budget : own;
  return naming(describe(node), [&] { return apply_rule(node, inputs, constants, spent); });
}

std::optional<std::size_t> needed_input(const ir::Node& node, std::span<const TensorType* const> inputs,
                                        std::span<const Tensor* const> constants) {
  return naming(describe(node), [&]() -> std::optional<std::size_t> {
    const OpDef& op = known_operator(node);
    check_arity(op, node);
    if (op.infer == nullptr) return std::nullopt;
    InferContext context(node, inputs, constants);
    try {
      op.infer(context);
    } catch (const UnknownShape& unknown) {
      return unknown.input;
    }
    return std::nullopt;
  });
}

std::vector<Tensor> evaluate_node(const ir::Node& node, const ir::Graph& graph,
                                  std::span<const Tensor* const> inputs, Budget* budget) {
  Budget own(graph.limits);
  Budget& spent = budget != nullptr ? *budget : own;
  return naming(ir::describe(node, graph), [&] { return evaluate(node, inputs, spent); });
}

std::vector<std::optional<Tensor>> infer_graph(ir::Graph& graph, Budget* budget) {
  Budget own(graph.limits);
  Budget& spent = budget != nullptr ? *budget : own;
  std::vector<std::optional<Tensor>> known(graph.values.size());
  std::vector<std::optional<TensorType>> types(graph.values.size());
  const auto index = [](ir::ValueId id) { return static_cast<std::size_t>(id); };
  for (const ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    const bool concrete = value.shape && std::all_of(value.shape->begin(), value.shape->end(),
                                                     [](std::int64_t d) { return d >= 0; });
    if (concrete) types.at(index(id)) = TensorType{value.dtype, *value.shape};
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    ir::Value& value = graph.values[i];
    if (!value.constant) continue;
    known[i] = value.constant;
    types[i] = TensorType{value.constant->dtype(), value.constant->shape()};
    value.dtype = value.constant->dtype();
    value.shape = value.constant->shape();
  }
  for (const ir::Node& node : graph.nodes) {
    std::vector<const TensorType*> inputs(node.inputs.size(), nullptr);
    std::vector<const Tensor*> data(node.inputs.size(), nullptr);
    bool complete = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ir::kNoValue) continue;
      const std::size_t id = index(node.inputs[i]);
      complete = complete && types.at(id).has_value();
      inputs[i] = types.at(id) ? &*types[id] : nullptr;
      data[i] = known.at(id) ? &*known[id] : nullptr;
    }
    naming(ir::describe(node, graph), [&] {
      std::optional<std::vector<TensorType>> outputs;
      if (complete) outputs = apply_rule(node, inputs, data, spent);
      std::vector<Tensor> folded;
      if (outputs && folds(node, inputs, data, *outputs, budget != nullptr))
        folded = fold(node, inputs, data, *outputs, spent.limits());
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] == ir::kNoValue) continue;
        ir::Value& value = graph.value(node.outputs[i]);
        value.shape.reset();
        if (!outputs) continue;
        value.dtype = (*outputs)[i].dtype;
        value.shape = (*outputs)[i].shape;
        value.dim_names.clear();
        types.at(index(node.outputs[i])) = (*outputs)[i];
        if (i < folded.size() && !folded[i].empty()) known[index(node.outputs[i])] = folded[i];
      }
    });
  }
  return known;
}

}  // namespace saccade::ops
