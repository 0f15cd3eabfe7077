#include "compiler/passes/open_quantised.h"

#include <array>

#include "compiler/quantised.h"
#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// Appends elementwise nodes in front of a place.
class Maker {
 public:
  Maker(Edit& edit, std::size_t position, std::string name)
      : edit_(edit), position_(position), name_(std::move(name)) {}

  ValueId apply(const char* op, std::vector<ValueId> inputs, ir::Attributes attributes = {}) {
    return edit_.insert(position_, Node{name_ + ":" + op, op, std::move(inputs), {}, std::move(attributes)});
  }
  ValueId number(double value) {
    return edit_.graph().add_constant(name_ + ":number", Tensor::of<float>({}, {static_cast<float>(value)}));
  }
  ValueId cast(ValueId x, DType to) { return apply("Cast", {x}, {{"to", std::string(dtype_name(to))}}); }

 private:
  Edit& edit_;
  std::size_t position_;
  std::string name_;
};

ValueId real_numbers(Edit& edit, std::size_t position, const Node& node, const Quantisation& from) {
  Maker make(edit, position, node.name);
  ValueId x = make.cast(node.inputs[0], DType::f32);
  if (from.zero != 0) x = make.apply("Sub", {x, make.number(from.zero)});
  if (from.scale != 1.0f) x = make.apply("Mul", {x, make.number(static_cast<double>(from.scale))});
  return x;
}

bool open_dequantise(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node node = graph.nodes[index];
  if (node.op != "DequantizeLinear" || graph.constant(node.inputs[0]) != nullptr ||
      known_shape(graph, node.inputs[0]) == nullptr)
    return false;
  const std::optional<Quantisation> from = quantisation_of(graph, node);
  if (!from) return false;
  const std::vector<ir::Uses::Use>& uses = edit.uses().of(node.outputs[0]);
  for (const ir::Uses::Use& use : uses)
    if (edit.touched(use.node)) return false;
  for (const ir::Uses::Use& use : uses) {
    const ValueId own = real_numbers(edit, use.node, node, *from);
    graph.nodes[use.node].inputs[use.slot] = own;
    edit.touch(use.node);
  }
  if (edit.uses().is_output(node.outputs[0]))
    edit.replace(index, real_numbers(edit, index, node, *from));
  else
    edit.remove(index);
  edit.mark_changed();
  return true;
}

bool open_quantise(Edit& edit, std::size_t index) {
  const Node node = edit.graph().nodes[index];
  if (node.op != "QuantizeLinear" || known_shape(edit.graph(), node.inputs[0]) == nullptr) return false;
  const std::optional<Quantisation> to = quantisation_of(edit.graph(), node);
  if (!to) return false;
  Maker make(edit, index, node.name);
  const double low = to->dtype == DType::i8 ? -128 : 0;
  ValueId x = node.inputs[0];
  if (to->scale != 1.0f) x = make.apply("Div", {x, make.number(static_cast<double>(to->scale))});
  x = make.apply("Round", {x});
  x = make.apply("Clip", {x, make.number(low - to->zero), make.number(low + 255 - to->zero)});
  if (to->zero != 0) x = make.apply("Add", {x, make.number(to->zero)});
  edit.replace(index, make.cast(x, to->dtype));
  return true;
}

// The mean of bytes, as they are.
bool mean_of_bytes(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  Node& mean = graph.nodes[index];
  if (mean.op != "ReduceMean" || graph.value(mean.outputs[0]).dtype != DType::f32) return false;
  const std::optional<std::size_t> source = edit.producer(mean.inputs[0], "Cast");
  if (!source) return false;
  const ValueId bytes = graph.nodes[*source].inputs[0];
  if (!is_byte(graph.value(bytes).dtype) || graph.value(mean.inputs[0]).dtype != DType::f32) return false;
  if (edit.uses().single(mean.inputs[0])) edit.remove(*source);
  edit.touch(*source);
  mean.inputs[0] = bytes;
  mean.attributes["to"] = std::string(dtype_name(DType::f32));
  edit.touch(index);
  edit.mark_changed();
  return true;
}

}  // namespace

void open_quantised(ir::Graph& graph) {
  constexpr std::array<Rule, 3> kRules = {open_dequantise, open_quantise, mean_of_bytes};
  apply_rules(graph, kRules);
}

}  // namespace saccade::compiler
