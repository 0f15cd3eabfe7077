#include "runtime/real_ends.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/graph.h"
#include "runtime/model_impl.h"

namespace saccade::runtime {

namespace {

/// The dequantisation that alone reads an input, with a scale that is known; nullptr if there is none.
const ir::Node* dequantisation(const ir::Graph& graph, const ir::Uses& uses, ir::ValueId input) {
  const auto& readers = uses.of(input);
  if (readers.empty() || uses.is_output(input)) return nullptr;
  for (const ir::Uses::Use& use : readers) {
    const ir::Node& node = graph.nodes[use.node];
    if (node.op != "DequantizeLinear" || use.slot != 0 || graph.constant_input(node, 1) == nullptr)
      return nullptr;
    if (graph.value(node.outputs[0]).dtype != DType::f32) return nullptr;
    if (node.inputs != graph.nodes[readers.front().node].inputs) return nullptr;
  }
  return &graph.nodes[readers.front().node];
}

/// A node with the scale, the zero point and the axis of `like`.
ir::Node counterpart(const char* op, const ir::Node& like, ir::ValueId from, std::string name) {
  ir::Node node{std::move(name), op, like.inputs, {}, like.attributes};
  node.inputs[0] = from;
  return node;
}

}  // namespace

Model with_real_ends(const Model& model) {
  ir::Graph graph = model.graph();
  const ir::Uses uses(graph);
  bool changed = false;
  std::vector<ir::Node> first;
  for (ir::ValueId& input : graph.inputs) {
    const ir::Node* node = dequantisation(graph, uses, input);
    if (node == nullptr) continue;
    ir::Value real = graph.value(input);
    real.dtype = DType::f32;
    graph.value(input).name += ":int";
    const ir::Node like = *node;
    const ir::ValueId id = graph.add_value(std::move(real));
    ir::Node quantise = counterpart("QuantizeLinear", like, id, graph.value(input).name);
    quantise.outputs = {input};
    first.push_back(std::move(quantise));
    input = id;
    changed = true;
  }
  const std::size_t count = graph.nodes.size();
  for (ir::ValueId& output : graph.outputs) {
    const std::int64_t index = uses.producer(output);
    if (index < 0 || static_cast<std::size_t>(index) >= count) continue;
    const ir::Node like = graph.nodes[static_cast<std::size_t>(index)];
    if (like.op != "QuantizeLinear" || graph.value(like.inputs[0]).dtype != DType::f32) continue;
    const std::string name = graph.value(output).name;
    graph.value(output).name += ":int";
    ir::Value real = graph.value(output);
    real.name = name;
    real.dtype = DType::f32;
    ir::Node dequantise = counterpart("DequantizeLinear", like, output, name + ":real");
    output = graph.add_value(std::move(real));
    dequantise.outputs = {output};
    graph.nodes.push_back(std::move(dequantise));
    changed = true;
  }
  if (!changed) return model;
  graph.nodes.insert(graph.nodes.begin(), first.begin(), first.end());
  return make_model(std::move(graph));
}

}  // namespace saccade::runtime
