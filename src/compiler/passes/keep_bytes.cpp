#include "compiler/passes/keep_bytes.h"

#include <algorithm>
#include <array>

#include "compiler/quantised.h"
#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// Operators of one result whose elements are elements of input 0. To dequantise never changes an order, so
// the largest stays the largest.
bool moves(const Node& node) {
  constexpr std::array kMovers = {"Transpose", "Reshape", "Squeeze",  "Unsqueeze",    "Flatten",
                                  "Slice",     "MaxPool", "Identity", "DepthToSpace", "SpaceToDepth"};
  return node.outputs.size() == 1 && std::find(kMovers.begin(), kMovers.end(), node.op) != kMovers.end();
}

// The DequantizeLinear behind a value, and what it does; nothing for constants, which are folded.
struct Source {
  Node node;
  Quantisation from;
};
std::optional<Source> source_of(const Edit& edit, ValueId id) {
  const ir::Graph& graph = edit.graph();
  const std::int64_t made = id == ir::kNoValue ? -1 : edit.uses().producer(id);
  if (made < 0) return std::nullopt;
  const Node& node = graph.nodes[static_cast<std::size_t>(made)];
  if (node.op != "DequantizeLinear" || graph.constant(node.inputs[0]) != nullptr) return std::nullopt;
  const std::optional<Quantisation> from = quantisation_of(graph, node);
  if (!from) return std::nullopt;
  return Source{node, *from};
}

// The node on bytes, and its result made real as the source was.
void make_real(Edit& edit, std::size_t index, Node bytes, const Source& source) {
  const Node& node = edit.graph().nodes[index];
  Node real{node.name, "DequantizeLinear", source.node.inputs, {}, {}};
  bytes.outputs.clear();
  bytes.name += ":bytes";
  real.inputs[0] = edit.insert(index, std::move(bytes));
  edit.replace(index, edit.insert(index, std::move(real)));
}

bool move_bytes(Edit& edit, std::size_t index) {
  const Node node = edit.graph().nodes[index];
  if (!moves(node)) return false;
  const std::optional<Source> source = source_of(edit, node.inputs[0]);
  if (!source) return false;
  Node bytes = node;
  bytes.inputs[0] = source->node.inputs[0];
  make_real(edit, index, std::move(bytes), *source);
  return true;
}

bool join_bytes(Edit& edit, std::size_t index) {
  const Node node = edit.graph().nodes[index];
  if (node.op != "Concat" || node.inputs.empty()) return false;
  Node bytes = node;
  std::optional<Source> first;
  for (ValueId& id : bytes.inputs) {
    const std::optional<Source> source = source_of(edit, id);
    if (!source || (first && !(source->from == first->from))) return false;
    if (!first) first = source;
    id = source->node.inputs[0];
  }
  make_real(edit, index, std::move(bytes), *first);
  return true;
}

// Each part is quantised on its own: a part that was bytes may be so already.
bool quantise_parts(Edit& edit, std::size_t index) {
  const Node node = edit.graph().nodes[index];
  if (node.op != "QuantizeLinear" || !quantisation_of(edit.graph(), node)) return false;
  const std::optional<std::size_t> at = edit.producer(node.inputs[0], "Concat");
  if (!at || !edit.uses().single(node.inputs[0])) return false;
  Node concat = edit.graph().nodes[*at];
  const bool any = std::any_of(concat.inputs.begin(), concat.inputs.end(),
                               [&](ValueId id) { return source_of(edit, id).has_value(); });
  if (!any) return false;
  for (std::size_t i = 0; i < concat.inputs.size(); ++i) {
    Node part{node.name + ":" + std::to_string(i), "QuantizeLinear", node.inputs, {}, node.attributes};
    part.inputs[0] = concat.inputs[i];
    concat.inputs[i] = edit.insert(index, std::move(part));
  }
  concat.outputs.clear();
  edit.replace(index, edit.insert(index, std::move(concat)));
  edit.remove(*at);
  return true;
}

bool meet(Edit& edit, std::size_t index) {
  const Node& node = edit.graph().nodes[index];
  if (node.op != "QuantizeLinear") return false;
  const std::optional<Quantisation> to = quantisation_of(edit.graph(), node);
  const std::optional<Source> source = source_of(edit, node.inputs[0]);
  if (!to || !source || !(*to == source->from)) return false;
  edit.replace(index, source->node.inputs[0]);
  return true;
}

}  // namespace

void keep_bytes(ir::Graph& graph) {
  constexpr std::array<Rule, 4> kRules = {move_bytes, join_bytes, quantise_parts, meet};
  apply_rules(graph, kRules);
}

}  // namespace saccade::compiler
