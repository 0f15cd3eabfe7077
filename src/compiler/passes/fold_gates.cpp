#include "compiler/passes/fold_gates.h"

#include <algorithm>
#include <array>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;

bool all(const std::vector<std::int64_t>& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
}

bool fold(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  Node& conv = graph.nodes[index];
  if (conv.op != "Conv" || conv.has_input(4) || graph.value(conv.outputs[0]).dtype != DType::f32)
    return false;
  const Tensor* weights = graph.constant(conv.inputs[1]);
  if (weights == nullptr || weights->rank() != 4 || weights->dim(2) != 1 || weights->dim(3) != 1)
    return false;
  if (conv.integer("group", 1) != 1 || !all(conv.integers("strides"), 1) || !all(conv.integers("pads"), 0) ||
      conv.text("auto_pad", "explicit") != "explicit" || integer_weights(*weights))
    return false;
  const std::optional<std::size_t> source = edit.producer(conv.inputs[0], "Mul");
  if (!source || !edit.uses().single(conv.inputs[0])) return false;
  const Node& mul = graph.nodes[*source];
  const Shape* scaled = known_shape(graph, mul.outputs[0]);
  if (scaled == nullptr || scaled->size() != 4 || (*scaled)[2] * (*scaled)[3] <= weights->dim(0))
    return false;
  const Shape gate{(*scaled)[0], (*scaled)[1], 1, 1};
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const Shape *picture = known_shape(graph, mul.inputs[slot]),
                *other = known_shape(graph, mul.inputs[1 - slot]);
    if (picture == nullptr || other == nullptr || *picture != *scaled || *other != gate) continue;
    if (graph.constant(mul.inputs[1 - slot]) != nullptr) continue;
    conv.inputs.resize(5, ir::kNoValue);
    conv.inputs[0] = mul.inputs[slot];
    conv.inputs[4] = mul.inputs[1 - slot];
    edit.mark_changed();
    edit.remove(*source);
    return true;
  }
  return false;
}

constexpr std::array<Rule, 1> kRules{fold};

}  // namespace

void fold_gates(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
