#include "compiler/passes/expand_quantised.h"

#include <array>

#include "compiler/quantised.h"
#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

ValueId dequantised(Edit& edit, std::size_t index, const std::string& name, const Node& node,
                    std::size_t slot, std::int64_t axis) {
  std::vector<ValueId> inputs = {node.inputs[slot], node.inputs[slot + 1]};
  if (node.has_input(slot + 2)) inputs.push_back(node.inputs[slot + 2]);
  return edit.insert(index, Node{name, "DequantizeLinear", std::move(inputs), {}, {{"axis", axis}}});
}

// The bias of integers as real numbers: it counts in products of both scales.
std::optional<Tensor> real_bias(const ir::Graph& graph, const Node& node) {
  const Tensor* bias = graph.constant_input(node, 8);
  const Tensor* weight_scale = graph.constant_input(node, 4);
  const std::optional<float> scale = scalar_constant(graph, node.inputs[1]);
  if (bias == nullptr || bias->dtype() != DType::i32 || !scale) return std::nullopt;
  if (weight_scale == nullptr || weight_scale->dtype() != DType::f32) return std::nullopt;
  if (weight_scale->count() != 1 && weight_scale->count() != bias->count()) return std::nullopt;
  Tensor real(DType::f32, bias->shape());
  for (std::int64_t i = 0; i < real.count(); ++i)
    real.data<float>()[i] = static_cast<float>(
        static_cast<double>(bias->data<std::int32_t>()[i]) * static_cast<double>(*scale) *
        static_cast<double>(weight_scale->data<float>()[weight_scale->count() == 1 ? 0 : i]));
  return real;
}

bool expand(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node node = graph.nodes[index];
  const bool conv = node.op == "QLinearConv";
  if (!conv && node.op != "QLinearMatMul") return false;
  if (conv && convolves_bytes(graph, node)) return false;
  if (!is_byte(graph.value(node.inputs[0]).dtype) || !is_byte(graph.value(node.inputs[3]).dtype))
    return false;
  // One scale for the picture and one for the result; a matrix product may have one for each row, which is
  // rare.
  if (!scalar_constant(graph, node.inputs[1]) || !scalar_constant(graph, node.inputs[6])) return false;
  if (!conv && !scalar_constant(graph, node.inputs[4])) return false;

  Node compute{node.name + ":real", conv ? "Conv" : "MatMul", {}, {}, node.attributes};
  std::optional<Tensor> bias;
  if (conv && node.has_input(8)) {
    bias = real_bias(graph, node);
    if (!bias) return false;
  }
  compute.inputs = {dequantised(edit, index, node.name + ":x", node, 0, 1),
                    dequantised(edit, index, node.name + ":w", node, 3, 0)};
  if (bias) compute.inputs.push_back(graph.add_constant(node.name + ":bias", std::move(*bias)));
  const ValueId real = edit.insert(index, std::move(compute));
  edit.replace(
      index,
      edit.insert(index, Node{node.name, "QuantizeLinear", {real, node.inputs[6], node.inputs[7]}, {}, {}}));
  return true;
}

}  // namespace

void expand_quantised(ir::Graph& graph) {
  constexpr std::array<Rule, 1> kRules = {expand};
  apply_rules(graph, kRules);
}

}  // namespace saccade::compiler
