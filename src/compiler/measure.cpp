#include "compiler/measure.h"

#include "compiler/edit.h"
#include "ops/op_def.h"

namespace saccade::compiler {

std::int64_t multiply_adds(const ir::Graph& graph, const ir::Node& node) {
  const ops::OpDef* op = ops::find(node.op);
  if (op == nullptr || op->multiply_adds == nullptr) return 0;
  std::vector<ops::TensorType> inputs(node.inputs.size()), outputs(node.outputs.size());
  std::vector<const ops::TensorType*> pointers(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::kNoValue) continue;
    const Shape* shape = known_shape(graph, node.inputs[i]);
    if (shape == nullptr) return 0;
    inputs[i] = {graph.value(node.inputs[i]).dtype, *shape};
    pointers[i] = &inputs[i];
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ir::kNoValue) continue;
    const Shape* shape = known_shape(graph, node.outputs[i]);
    if (shape == nullptr) return 0;
    outputs[i] = {graph.value(node.outputs[i]).dtype, *shape};
  }
  return op->multiply_adds(node, pointers, outputs);
}

}  // namespace saccade::compiler
