#include "interpret/interpreter.h"

#include <gtest/gtest.h>

#include "saccade/error.h"

namespace saccade::interpret {
namespace {

/// y = relu(x) * x, z = x's shape; x is 2 x unknown.
ir::Graph small_graph() {
  ir::Graph g;
  ir::Value x;
  x.name = "x";
  x.shape = Shape{2, -1};
  g.inputs = {g.add_value(x)};
  const ir::ValueId r = g.add_node({"relu", "Relu", {g.inputs[0]}, {}, {}});
  const ir::ValueId y = g.add_node({"mul", "Mul", {r, g.inputs[0]}, {}, {}});
  const ir::ValueId z = g.add_node({"shape", "Shape", {g.inputs[0]}, {}, {}});
  g.outputs = {y, z, g.inputs[0]};
  return g;
}

TEST(Interpreter, RunsAnyAdmissibleShapeFromCallToCall) {
  const ir::Graph g = small_graph();
  for (const std::int64_t columns : {1, 3, 1, 0}) {
    Tensor x(DType::f32, {2, columns});
    for (std::int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = static_cast<float>(i) - 1;
    const std::vector<Tensor> out = run(g, std::vector<Tensor>{x});
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[0].shape(), x.shape());
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const float v = x.data<float>()[i];
      EXPECT_EQ(out[0].data<float>()[i], v > 0 ? v * v : 0.0f);
    }
    EXPECT_EQ(out[1].data<std::int64_t>()[1], columns);
  }
}

TEST(Interpreter, ObservesEveryNode) {
  std::vector<std::string> seen;
  Options options;
  options.observe = [&](const ir::Node& node, std::span<const Tensor> outputs) {
    seen.push_back(node.name);
    EXPECT_EQ(outputs.size(), 1u);
  };
  run(small_graph(), std::vector<Tensor>{Tensor::zeros(DType::f32, {2, 2})}, options);
  EXPECT_EQ(seen, (std::vector<std::string>{"relu", "mul", "shape"}));
}

void expect_refused(const ir::Graph& g, const std::vector<Tensor>& inputs, const std::string& part) {
  try {
    run(g, inputs);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::shape_mismatch);
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Interpreter, ChecksItsInputs) {
  const ir::Graph g = small_graph();
  expect_refused(g, {}, "1 inputs, 0");
  expect_refused(g, {Tensor::zeros(DType::f32, {3, 2})},
                 "input 'x': dimension 0 differs: expected 2x?, got 3x2");
  expect_refused(g, {Tensor::zeros(DType::f32, {2})}, "rank differs");
  expect_refused(g, {Tensor::zeros(DType::f64, {2, 2})}, "expected float32, got float64");
  expect_refused(g, {Tensor()}, "no data");
}

TEST(Interpreter, ErrorsOfKernelsNameTheNode) {
  ir::Graph g = small_graph();
  g.nodes[1].op = "MatMul";
  expect_refused(g, {Tensor::zeros(DType::f32, {2, 3})}, "node 'mul' (MatMul)");
}

}  // namespace
}  // namespace saccade::interpret
