// Builds small graphs for tests, with reproducible random weights.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/infer.h"

namespace saccade::testing {

class GraphMaker {
 public:
  using Id = ir::ValueId;

  ir::Graph graph;

  Id input(const std::string& name, const Shape& shape, DType dtype = DType::f32) {
    ir::Value value;
    value.name = name;
    value.dtype = dtype;
    value.shape = shape;
    graph.inputs.push_back(graph.add_value(value));
    return graph.inputs.back();
  }

  Id floats(const Shape& shape, const std::vector<float>& values) {
    return graph.add_constant("c" + std::to_string(graph.values.size()),
                              Tensor::of<float>(shape, std::span(values)));
  }
  Id scalar(float value) { return floats({}, {value}); }
  Id integers(const std::vector<std::int64_t>& values) {
    return graph.add_constant(
        "i" + std::to_string(graph.values.size()),
        Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, std::span(values)));
  }
  /// Uniform in [low, high).
  Id random(const Shape& shape, float low = -0.5f, float high = 0.5f) {
    std::uniform_real_distribution<float> uniform(low, high);
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (float& v : values) v = uniform(engine_);
    return floats(shape, values);
  }

  Id node(const std::string& op, std::vector<Id> inputs, ir::Attributes attributes = {},
          std::size_t outputs = 1) {
    const std::string name = op + "_" + std::to_string(graph.nodes.size());
    return graph.add_node({name, op, std::move(inputs), {}, std::move(attributes)}, outputs);
  }

  /// Convolution with random weights and bias, kernel k, padded to keep the size at stride 1.
  Id conv(Id x, std::int64_t in, std::int64_t out, std::int64_t k = 3, std::int64_t stride = 1,
          std::int64_t group = 1) {
    const std::int64_t pad = k / 2;
    return node("Conv", {x, random({out, in / group, k, k}), random({out})},
                {{"strides", std::vector<std::int64_t>{stride, stride}},
                 {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}},
                 {"group", group}});
  }
  Id transpose(Id x, std::vector<std::int64_t> perm) {
    return node("Transpose", {x}, {{"perm", std::move(perm)}});
  }
  Id to_nchw(Id x) { return transpose(x, {0, 3, 1, 2}); }
  Id to_nhwc(Id x) { return transpose(x, {0, 2, 3, 1}); }
  Id reshape(Id x, const std::vector<std::int64_t>& shape) { return node("Reshape", {x, integers(shape)}); }

  /// Marks outputs and infers all types.
  ir::Graph finish(const std::vector<Id>& outputs) {
    graph.outputs = outputs;
    ops::verify(graph);
    ops::infer_graph(graph);
    return graph;
  }

 private:
  std::mt19937 engine_{12345};
};

inline std::size_t count(const ir::Graph& graph, std::string_view op) {
  std::size_t n = 0;
  for (const ir::Node& node : graph.nodes) n += node.op == op ? 1 : 0;
  return n;
}

inline const ir::Node* find(const ir::Graph& graph, std::string_view op) {
  for (const ir::Node& node : graph.nodes)
    if (node.op == op) return &node;
  return nullptr;
}

}  // namespace saccade::testing
