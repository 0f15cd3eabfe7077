#include "compiler/passes/fuse_requantise.h"

#include <algorithm>
#include <array>
#include <limits>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

struct Range {
  double low, high;
};

template <class T>
Range range_of() {
  return {static_cast<double>(std::numeric_limits<T>::min()),
          static_cast<double>(std::numeric_limits<T>::max())};
}

std::optional<Range> integer_range(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return range_of<std::int8_t>();
    case DType::u8:
      return range_of<std::uint8_t>();
    case DType::i16:
      return range_of<std::int16_t>();
    case DType::u16:
      return range_of<std::uint16_t>();
    default:
      return std::nullopt;  // beyond what single precision counts exactly
  }
}

// The zero point of a node that has one for all elements; 0 where it names none.
std::optional<double> zero_point(const ir::Graph& graph, const Node& node) {
  if (!node.has_input(2)) return 0.0;
  const Tensor* tensor = graph.constant_input(node, 2);
  if (tensor == nullptr || tensor->count() != 1) return std::nullopt;
  switch (tensor->dtype()) {
    case DType::i8:
      return static_cast<double>(tensor->data<std::int8_t>()[0]);
    case DType::u8:
      return static_cast<double>(tensor->data<std::uint8_t>()[0]);
    case DType::i16:
      return static_cast<double>(tensor->data<std::int16_t>()[0]);
    case DType::u16:
      return static_cast<double>(tensor->data<std::uint16_t>()[0]);
    default:
      return std::nullopt;
  }
}

bool fuse(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node node = graph.nodes[index];
  if (node.op != "DequantizeLinear" || graph.value(node.outputs[0]).dtype != DType::f32) return false;
  const std::int64_t made = edit.uses().producer(node.inputs[0]);
  if (made < 0 || graph.nodes[static_cast<std::size_t>(made)].op != "QuantizeLinear") return false;
  const Node quantise = graph.nodes[static_cast<std::size_t>(made)];
  if (graph.value(quantise.inputs[0]).dtype != DType::f32) return false;
  // Where somebody needs the bytes, they are what is stored.
  const auto& uses = edit.uses().of(node.inputs[0]);
  if (edit.uses().is_output(node.inputs[0]) ||
      std::any_of(uses.begin(), uses.end(),
                  [&](const ir::Uses::Use& use) { return graph.nodes[use.node].op != "DequantizeLinear"; }))
    return false;
  const std::optional<float> scale = scalar_constant(graph, quantise.inputs[1]),
                             back = scalar_constant(graph, node.inputs[1]);
  const std::optional<double> zero = zero_point(graph, quantise), zero_back = zero_point(graph, node);
  const std::optional<Range> range = integer_range(graph.value(node.inputs[0]).dtype);
  if (!scale || !back || !zero || !zero_back || *zero != *zero_back || !range) return false;

  const auto number = [&](const char* what, double value) {
    return graph.add_constant(node.name + what, Tensor::of<float>({}, {static_cast<float>(value)}));
  };
  const auto emit = [&](const char* suffix, const char* op, std::vector<ValueId> inputs) {
    return edit.insert(index, Node{node.name + suffix, op, std::move(inputs), {}, {}});
  };
  const ValueId units =
      *scale == 1.0f
          ? quantise.inputs[0]
          : emit(":units", "Div", {quantise.inputs[0], number(":scale", static_cast<double>(*scale))});
  const ValueId whole = emit(":round", "Round", {units});
  const ValueId low = number(":low", range->low - *zero), high = number(":high", range->high - *zero);
  ValueId result = emit(":clip", "Clip", {whole, low, high});
  if (*back != 1.0f) result = emit(":real", "Mul", {result, number(":back", static_cast<double>(*back))});
  edit.replace(index, result);
  return true;
}

}  // namespace

void fuse_requantise(ir::Graph& graph) {
  constexpr std::array<Rule, 1> kRules = {fuse};
  apply_rules(graph, kRules);
}

}  // namespace saccade::compiler
