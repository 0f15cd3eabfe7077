#include "compiler/legalise.h"

#include <fmt/format.h>

#include "compiler/chain.h"
#include "compiler/edit.h"
#include "compiler/layout.h"
#include "ops/infer.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// Whether some kernel can run the node, its operands dense and in one order throughout.
bool runs(const ir::Graph& graph, const Node& node, const KernelTable& kernels) {
  std::vector<const Tensor*> constants;
  for (const ValueId id : node.inputs) constants.push_back(graph.constant(id));
  for (const Layout layout : {Layout::channels_last, Layout::plain}) {
    const auto desc = [&](ValueId id) -> TensorDesc {
      if (id == ir::kNoValue) return {};
      const Shape& dims = *known_shape(graph, id);
      const Layout used = dims.size() == 4 && graph.value(id).dtype == DType::f32 ? layout : Layout::plain;
      TensorDesc dense{true, graph.value(id).dtype, used, dims, dense_strides(dims, used)};
      if (graph.constant(id) == nullptr) return dense;
      const TensorDesc plain{true, graph.value(id).dtype, Layout::plain, dims,
                             dense_strides(dims, Layout::plain)};
      return node.op == "ElementwiseChain" ? dense : plain;
    };
    std::vector<TensorDesc> inputs, outputs;
    for (const ValueId id : node.inputs) inputs.push_back(desc(id));
    for (const ValueId id : node.outputs) outputs.push_back(desc(id));
    if (kernels.best({node, inputs, constants, outputs, Precision::fp32}).kernel != nullptr) return true;
  }
  return false;
}

// The node that applies what is left of an epilogue to `x`.
Node activation_node(ir::Graph& graph, const Node& fused, ValueId x) {
  const std::string activation = fused.text("activation", "none");
  Node node{fused.name + ":activation", "", {x}, {}, {}};
  if (activation == "relu") node.op = "Relu";
  if (activation == "sigmoid") node.op = "Sigmoid";
  if (activation == "hard_swish") node.op = "HardSwish";
  if (activation == "silu") node.op = "Silu";
  if (activation == "tanh") node.op = "Tanh";
  if (activation == "leaky_relu") {
    node.op = "LeakyRelu";
    node.attributes["alpha"] = fused.real("activation_alpha", 0.01f);
  }
  if (activation == "hard_sigmoid") {
    node.op = "HardSigmoid";
    node.attributes["alpha"] = fused.real("activation_alpha", 0.2f);
    node.attributes["beta"] = fused.real("activation_beta", 0.5f);
  }
  if (activation == "clip") {
    node.op = "Clip";
    node.inputs.push_back(add_floats(graph, node.name + ":low", {}, {fused.real("activation_alpha", 0)}));
    node.inputs.push_back(add_floats(graph, node.name + ":high", {}, {fused.real("activation_beta", 0)}));
  }
  return node;
}

class Legaliser {
 public:
  Legaliser(ir::Graph& graph, const KernelTable& kernels) : graph_(graph), kernels_(kernels) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      if (node.outputs.size() == 1 && split(node)) continue;
      emit(std::move(node));
    }
  }

 private:
  // As it is, or as a chain if only that has a kernel.
  void emit(Node node) {
    if (node.op != "ElementwiseChain" && chainable(graph_, node) && !runs(graph_, node, kernels_)) {
      const Node* list[] = {&node};
      Node chain = make_chain(graph_, list);
      chain.outputs = node.outputs;
      if (runs(graph_, chain, kernels_)) node = std::move(chain);
    }
    graph_.nodes.push_back(std::move(node));
  }

  // Convolution and matrix product without their epilogue, if only so they run.
  bool split(const Node& node) {
    const bool residual = node.op == "Conv" && node.has_input(3);
    const bool activation = node.text("activation", "none") != "none";
    if (!residual && !activation) return false;
    if (runs(graph_, node, kernels_)) return false;
    Node bare = node;
    bare.attributes.erase("activation");
    bare.attributes.erase("activation_alpha");
    bare.attributes.erase("activation_beta");
    if (residual) bare.inputs.pop_back();
    while (!bare.inputs.empty() && bare.inputs.back() == ir::kNoValue) bare.inputs.pop_back();
    ValueId x = fresh(node.outputs[0], node.name + ":bare");
    bare.outputs = {x};
    if (!runs(graph_, bare, kernels_)) return false;
    graph_.nodes.push_back(std::move(bare));
    std::vector<Node> rest;
    if (residual) {
      Node add{node.name + ":residual", "Add", {x, node.inputs[3]}, {}, {}};
      x = activation ? fresh(node.outputs[0], add.name) : node.outputs[0];
      add.outputs = {x};
      rest.push_back(std::move(add));
    }
    if (activation) {
      Node last = activation_node(graph_, node, x);
      last.outputs = {node.outputs[0]};
      rest.push_back(std::move(last));
    }
    if (rest.size() == 2 && chainable(graph_, rest[0]) && chainable(graph_, rest[1])) {
      const Node* list[] = {&rest[0], &rest[1]};
      Node chain = make_chain(graph_, list);
      chain.outputs = node.outputs;
      rest = {std::move(chain)};
    }
    for (Node& each : rest) emit(std::move(each));
    return true;
  }

  // A new value of the type of `like`.
  ValueId fresh(ValueId like, const std::string& name) {
    ir::Value value = graph_.value(like);
    value.name = name;
    return graph_.add_value(std::move(value));
  }

  ir::Graph& graph_;
  const KernelTable& kernels_;
};

}  // namespace

void legalise(ir::Graph& graph, const KernelTable& kernels) { Legaliser(graph, kernels).run(); }

}  // namespace saccade::compiler
