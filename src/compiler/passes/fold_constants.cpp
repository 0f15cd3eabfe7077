#include "compiler/passes/fold_constants.h"

#include "compiler/edit.h"
#include "ops/infer.h"

namespace saccade::compiler {

namespace {

// A folded result may be this large in any case, or this many times larger than its inputs (int8 weights
// become f32).
constexpr std::size_t kSmall = std::size_t{1} << 20;
constexpr std::size_t kGrowth = 8;

bool too_large(const ir::Graph& graph, const ir::Node& node) {
  std::size_t in = 0;
  std::size_t out = 0;
  for (const ir::ValueId id : node.inputs)
    if (const Tensor* tensor = graph.constant(id)) in += tensor->bytes();
  for (const ir::ValueId id : node.outputs) {
    const Shape* shape = known_shape(graph, id);
    if (shape != nullptr)
      out += static_cast<std::size_t>(element_count(*shape)) * dtype_size(graph.value(id).dtype);
  }
  return out > kSmall && out / kGrowth > in;
}

bool has_subgraph(const ir::Node& node) {
  for (const auto& [key, value] : node.attributes)
    if (std::holds_alternative<std::shared_ptr<const ir::Graph>>(value)) return true;
  return false;
}

bool foldable(const ir::Graph& graph, const ir::Node& node, const ops::OpDef& op) {
  if (op.is(ops::kNondeterministic) || has_subgraph(node)) return false;
  if (op.is(ops::kShapeArithmetic)) {
    // Reads the shape of input 0 only.
    return !node.inputs.empty() && known_shape(graph, node.inputs[0]) != nullptr;
  }
  for (const ir::ValueId id : node.inputs)
    if (id != ir::kNoValue && graph.constant(id) == nullptr) return false;
  return !too_large(graph, node);
}

}  // namespace

void fold_constants(ir::Graph& graph) {
  std::vector<ir::Node> kept;
  ops::Budget budget(graph.limits);
  for (ir::Node& node : graph.nodes) {
    const ops::OpDef* op = ops::find(node.op);
    infer_outputs(graph, node);  // inputs may have become constant just now
    if (op == nullptr || !foldable(graph, node, *op)) {
      kept.push_back(std::move(node));
      continue;
    }
    std::vector<Tensor> stand_ins(node.inputs.size());
    std::vector<const Tensor*> inputs(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ir::kNoValue) continue;
      inputs[i] = graph.constant(node.inputs[i]);
      if (inputs[i] == nullptr) {
        // Shape arithmetic never touches data: a tensor of the right shape over no memory will do.
        const ir::Value& value = graph.value(node.inputs[i]);
        stand_ins[i] = Tensor::view(value.dtype, *value.shape, nullptr, nullptr);
        inputs[i] = &stand_ins[i];
      }
    }
    std::vector<Tensor> outputs = ops::evaluate_node(node, graph, inputs, &budget);
    for (std::size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
      if (node.outputs[i] == ir::kNoValue) continue;
      budget.hold(outputs[i]);
      ir::Value& value = graph.value(node.outputs[i]);
      value.dtype = outputs[i].dtype();
      value.shape = outputs[i].shape();
      value.dim_names.clear();
      value.constant = std::move(outputs[i]);
    }
  }
  graph.nodes = std::move(kept);
}

}  // namespace saccade::compiler
