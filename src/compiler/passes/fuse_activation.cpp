#include "compiler/passes/fuse_activation.h"

#include <array>
#include <limits>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;

struct Epilogue {
  std::string activation;
  std::optional<float> alpha, beta;
};

std::optional<Epilogue> epilogue_of(const ir::Graph& graph, const Node& node) {
  if (node.op == "Relu") return Epilogue{"relu", {}, {}};
  if (node.op == "Sigmoid") return Epilogue{"sigmoid", {}, {}};
  if (node.op == "HardSwish") return Epilogue{"hard_swish", {}, {}};
  if (node.op == "Silu") return Epilogue{"silu", {}, {}};
  if (node.op == "Tanh") return Epilogue{"tanh", {}, {}};
  if (node.op == "LeakyRelu") return Epilogue{"leaky_relu", node.real("alpha", 0.01f), {}};
  if (node.op == "HardSigmoid")
    return Epilogue{"hard_sigmoid", node.real("alpha", 0.2f), node.real("beta", 0.5f)};
  if (node.op != "Clip") return std::nullopt;
  Epilogue clip{"clip", -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  if (node.has_input(1)) clip.alpha = scalar_constant(graph, node.inputs[1]);
  if (node.has_input(2)) clip.beta = scalar_constant(graph, node.inputs[2]);
  if (!clip.alpha || !clip.beta) return std::nullopt;
  return clip;
}

bool takes_activation(const Node& node) {
  return (node.op == "Conv" || node.op == "ConvTranspose" || node.op == "DeformConv" || node.op == "MatMul" ||
          node.op == "Gemm" || node.op == "InstanceNormalization") &&
         node.text("activation", "none") == "none";
}

bool fuse(Edit& edit, std::size_t index) {
  ir::Graph& graph = edit.graph();
  const Node& node = graph.nodes[index];
  if (node.inputs.empty() || node.inputs[0] == ir::kNoValue ||
      graph.value(node.inputs[0]).dtype != DType::f32)
    return false;
  const std::optional<Epilogue> epilogue = epilogue_of(graph, node);
  if (!epilogue) return false;
  const std::optional<std::size_t> source = edit.producer(node.inputs[0]);
  if (!source || !takes_activation(graph.nodes[*source]) || !edit.uses().single(node.inputs[0])) return false;
  Node& target = graph.nodes[*source];
  target.attributes["activation"] = epilogue->activation;
  if (epilogue->alpha) target.attributes["activation_alpha"] = *epilogue->alpha;
  if (epilogue->beta) target.attributes["activation_beta"] = *epilogue->beta;
  edit.touch(*source);
  edit.replace(index, target.outputs[0]);
  return true;
}

constexpr std::array<Rule, 1> kRules{fuse};

}  // namespace

void fuse_activation(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
