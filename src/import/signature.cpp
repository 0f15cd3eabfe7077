#include <algorithm>
#include <array>
#include <string_view>

#include "import/import.h"

namespace saccade::import {

namespace {

/// Operators that keep the range of their first input's values.
constexpr std::array<std::string_view, 15> kKeepRange = {
    "Transpose", "Identity", "Reshape", "Resize", "Squeeze", "Unsqueeze",      "Flatten",         "Slice",
    "Concat",    "Gather",   "MaxPool", "Expand", "Cast",    "QuantizeLinear", "DequantizeLinear"};

std::string producer_of(const ir::Graph& graph, const ir::Uses& uses, ir::ValueId id) {
  for (std::size_t step = 0; step <= graph.nodes.size(); ++step) {
    const std::int64_t made_by = uses.producer(id);
    if (made_by < 0) return "";
    const ir::Node& node = graph.nodes[static_cast<std::size_t>(made_by)];
    if (std::find(kKeepRange.begin(), kKeepRange.end(), node.op) == kKeepRange.end()) return node.op;
    if (!node.has_input(0)) return node.op;
    id = node.inputs[0];
  }
  return "";
}

/// Whether the integers of an input or output only stand for real numbers.
bool stands_for_reals(const ir::Graph& graph, const ir::Uses& uses, ir::ValueId id, bool output) {
  if (output) {
    const std::int64_t made_by = uses.producer(id);
    return made_by >= 0 && graph.nodes[static_cast<std::size_t>(made_by)].op == "QuantizeLinear";
  }
  const auto& readers = uses.of(id);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const ir::Uses::Use& use) {
    return graph.nodes[use.node].op == "DequantizeLinear";
  });
}

spec::Declared declared(const ir::Value& value) {
  return {value.name, value.shape.value_or(Shape{}), value.dtype, ""};
}

}  // namespace

spec::Signature signature_of(const ir::Graph& graph) {
  spec::Signature signature;
  const ir::Uses uses(graph);
  for (const ir::ValueId id : graph.inputs) {
    signature.inputs.push_back(declared(graph.value(id)));
    if (stands_for_reals(graph, uses, id, false)) signature.inputs.back().dtype = DType::f32;
  }
  for (const ir::ValueId id : graph.outputs) {
    signature.outputs.push_back(declared(graph.value(id)));
    if (stands_for_reals(graph, uses, id, true)) signature.outputs.back().dtype = DType::f32;
    signature.outputs.back().producer = producer_of(graph, uses, id);
  }
  return signature;
}

}  // namespace saccade::import
