#include "compiler/measure.h"

#include "compiler/edit.h"
#include "ops/budget.h"
#include "ops/op_def.h"
#include "ops/window.h"

namespace saccade::compiler {

namespace {

/// Types of a node's operands, where all shapes are known.
struct Types {
  Types(const ir::Graph& graph, const ir::Node& node)
      : inputs(node.inputs.size()),
        outputs(node.outputs.size(), {DType::f32, {0}}),
        pointers(node.inputs.size(), nullptr) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ir::kNoValue) continue;
      take(graph, node.inputs[i], inputs[i]);
      pointers[i] = &inputs[i];
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNoValue) take(graph, node.outputs[i], outputs[i]);
  }

  void take(const ir::Graph& graph, ir::ValueId id, ops::TensorType& type) {
    const Shape* shape = known_shape(graph, id);
    if (shape == nullptr)
      known = false;
    else
      type = {graph.value(id).dtype, *shape};
  }

  bool known = true;
  std::vector<ops::TensorType> inputs, outputs;
  std::vector<const ops::TensorType*> pointers;
};

}  // namespace

std::int64_t multiply_adds(const ir::Graph& graph, const ir::Node& node) {
  const ops::OpDef* op = ops::find(node.op);
  if (op == nullptr || op->multiply_adds == nullptr) return 0;
  const Types types(graph, node);
  return types.known ? op->multiply_adds(node, types.pointers, types.outputs) : 0;
}

std::int64_t work_of(const ir::Graph& graph, const ir::Node& node) {
  const Types types(graph, node);
  return ops::node_work(node, types.pointers, types.outputs);
}

std::int64_t needed_multiply_adds(const ir::Graph& graph, const ir::Node& node) {
  const std::int64_t all = multiply_adds(graph, node);
  const bool quantised = node.op == "QLinearConv";
  if ((node.op != "Conv" && !quantised) || all == 0) return all;
  const Types types(graph, node);
  const Shape &x = types.inputs[0].shape, &w = types.inputs[quantised ? 3 : 1].shape;
  const ops::NodeView view(node, types.pointers, {});
  double share = 1;
  for (const ops::WindowAxis& axis :
       ops::forward_window(view, Shape(x.begin() + 2, x.end()), Shape(w.begin() + 2, w.end()))) {
    std::int64_t inside = 0;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const ops::Span span = ops::inside(axis, k);
      inside += span.last - span.first;
    }
    share *= static_cast<double>(inside) / static_cast<double>(axis.kernel * axis.out);
  }
  return static_cast<std::int64_t>(static_cast<double>(all) * share + 0.5);
}

}  // namespace saccade::compiler
