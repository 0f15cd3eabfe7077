#include "compiler/chain.h"

#include <algorithm>
#include <limits>
#include <map>

#include "compiler/edit.h"
#include "compiler/quantised.h"
#include "ops/chain_program.h"
#include "ops/elementwise.h"
#include "ops/op_def.h"

namespace saccade::compiler {

namespace {

// Parameters of the instruction, where the node holds them as attributes or (Clip) as constant inputs.
std::optional<std::vector<double>> parameters(const ir::Graph& graph, const ir::Node& node,
                                              const ops::OpDef& op) {
  if (node.op != "Clip") return ops::parameters_of(op, node);
  std::vector<double> bounds{-std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::infinity()};
  for (std::size_t slot = 1; slot < 3; ++slot) {
    if (!node.has_input(slot)) continue;
    const std::optional<float> bound = scalar_constant(graph, node.inputs[slot]);
    if (!bound) return std::nullopt;
    bounds[slot - 1] = *bound;
  }
  return bounds;
}

// The shape that inputs broadcast to.
Shape broadcast(const ir::Graph& graph, const std::vector<ir::ValueId>& inputs) {
  Shape shape;
  for (const ir::ValueId id : inputs) {
    const Shape& other = *known_shape(graph, id);
    if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (std::size_t i = 0; i < other.size(); ++i) {
      std::int64_t& dim = shape[shape.size() - other.size() + i];
      if (dim == 1) dim = other[i];
    }
  }
  return shape;
}

// A Cast from bytes or bf16 is how an input is read, one to them how the result is stored.
bool casts_storage(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "Cast" || node.outputs.size() != 1 || known_shape(graph, node.inputs[0]) == nullptr)
    return false;
  const DType from = graph.value(node.inputs[0]).dtype, to = graph.value(node.outputs[0]).dtype;
  const auto stored = [](DType dtype) { return is_byte(dtype) || dtype == DType::bf16; };
  return (stored(from) && to == DType::f32) || (from == DType::f32 && stored(to));
}

}  // namespace

bool chainable(const ir::Graph& graph, const ir::Node& node) {
  if (casts_storage(graph, node)) return true;
  const ops::OpDef* op = ops::find(node.op);
  if (op == nullptr || op->scalar.fn == nullptr || node.outputs.size() != 1 ||
      node.outputs[0] == ir::kNoValue)
    return false;
  if (graph.value(node.outputs[0]).dtype != DType::f32 || known_shape(graph, node.outputs[0]) == nullptr)
    return false;
  const auto operands = static_cast<std::size_t>(ops::chain_operands(*op));
  for (std::size_t slot = 0; slot < operands; ++slot)
    if (!node.has_input(slot) || graph.value(node.inputs[slot]).dtype != DType::f32 ||
        known_shape(graph, node.inputs[slot]) == nullptr)
      return false;
  return parameters(graph, node, *op).has_value();
}

ir::Node make_chain(const ir::Graph& graph, std::span<const ir::Node* const> nodes) {
  ir::Node chain{nodes.back()->name, "ElementwiseChain", {}, {}, {}};
  std::map<ir::ValueId, int> registers;
  const auto made_inside = [&](ir::ValueId id) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const ir::Node* node) { return node->outputs[0] == id; });
  };
  const auto operand_count = [](const ir::Node& node) {
    return node.op == "Cast" ? 1 : static_cast<std::size_t>(ops::chain_operands(*ops::find(node.op)));
  };
  const auto literal = [&](ir::ValueId id) { return scalar_constant(graph, id); };
  const auto collect = [&](bool with_literals) {
    for (const ir::Node* node : nodes) {
      for (std::size_t slot = 0; slot < operand_count(*node); ++slot) {
        const ir::ValueId id = node->inputs[slot];
        if (made_inside(id) || registers.contains(id) || (literal(id) && !with_literals)) continue;
        registers.emplace(id, static_cast<int>(chain.inputs.size()));
        chain.inputs.push_back(id);
      }
    }
  };
  collect(false);
  // A constant of one element may still be what gives the result its rank.
  if (broadcast(graph, chain.inputs) != *known_shape(graph, nodes.back()->outputs[0]) || chain.inputs.empty())
    collect(true);
  auto next = static_cast<int>(chain.inputs.size());
  std::vector<std::string> program;
  for (const ir::Node* node : nodes) {
    if (node->op == "Cast") {
      const DType to = graph.value(node->outputs[0]).dtype;
      if (to != DType::f32) chain.attributes["to"] = std::string(dtype_name(to));
      registers.emplace(node->outputs[0], registers.at(node->inputs[0]));
      continue;
    }
    ops::ChainInstruction instruction;
    instruction.op = ops::find(node->op);
    for (std::size_t slot = 0; slot < operand_count(*node); ++slot) {
      const ir::ValueId id = node->inputs[slot];
      const auto found = registers.find(id);
      if (found != registers.end())
        instruction.operands.push_back({found->second, 0});
      else
        instruction.operands.push_back({-1, *literal(id)});
    }
    instruction.parameters = *parameters(graph, *node, *instruction.op);
    program.push_back(ops::chain_text(instruction));
    registers.emplace(node->outputs[0], next++);
  }
  if (program.empty()) {  // casts alone
    constexpr double kAll = std::numeric_limits<double>::infinity();
    ops::ChainInstruction copy;
    copy.op = ops::find("Clip");  // a sum with 0 would lose the sign of a zero
    copy.operands = {{registers.at(nodes.back()->inputs[0]), 0}};
    copy.parameters = {-kAll, kAll};
    program.push_back(ops::chain_text(copy));
  }
  chain.attributes["program"] = std::move(program);
  return chain;
}

}  // namespace saccade::compiler
