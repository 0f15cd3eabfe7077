#include "compiler/passes/rewrite_batch.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/compile.h"
#include "graph_maker.h"
#include "interpret/interpreter.h"
#include "saccade/error.h"

namespace saccade::compiler {
namespace {

using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

// Each sample of the batch gives what it gives alone.
void expect_per_sample(const ir::Graph& graph, std::int64_t batch) {
  std::vector<Shape> shapes;
  std::vector<Tensor> whole;
  for (const Id id : graph.inputs) {
    Shape shape = *graph.value(id).shape;
    shape[0] *= batch;
    shapes.push_back(shape);
    Tensor x(DType::f32, shape);
    for (std::int64_t i = 0; i < x.count(); ++i)
      x.data<float>()[i] = static_cast<float>((i * 37 + 11) % 101) / 50.0f - 1.0f;
    whole.push_back(x);
  }
  const ir::Graph rewritten = with_shapes(graph, shapes);
  const std::vector<Tensor> results = interpret::run(rewritten, whole);
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Tensor> one;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      Tensor x(DType::f32, *graph.value(graph.inputs[i]).shape);
      std::memcpy(x.raw(),
                  static_cast<const std::byte*>(whole[i].raw()) + static_cast<std::size_t>(b) * x.bytes(),
                  x.bytes());
      one.push_back(x);
    }
    const std::vector<Tensor> alone = interpret::run(graph, one);
    for (std::size_t o = 0; o < alone.size(); ++o) {
      ASSERT_EQ(results[o].bytes(), alone[o].bytes() * static_cast<std::size_t>(batch));
      EXPECT_EQ(std::memcmp(static_cast<const std::byte*>(results[o].raw()) +
                                static_cast<std::size_t>(b) * alone[o].bytes(),
                            alone[o].raw(), alone[o].bytes()),
                0)
          << "output " << o << ", sample " << b;
    }
  }
}

TEST(RewriteBatch, ConvolutionsReshapesAndHeads) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 8, 8});
  auto y = m.node("Relu", {m.conv(x, 3, 4)});
  y = m.node("Resize", {y, ir::kNoValue, ir::kNoValue, m.integers({1, 4, 16, 16})},
             {{"mode", std::string("linear")}});
  auto z = m.node("Softmax", {m.reshape(y, {1, 4, 256})}, {{"axis", std::int64_t{1}}});
  z = m.transpose(z, {0, 2, 1});
  z = m.node("MatMul", {z, m.random({4, 3})});
  auto rows = m.reshape(z, {-1, 3});  // the batch multiplies the rows
  rows = m.node("Gemm", {rows, m.random({3, 2})});
  auto back = m.reshape(rows, {1, 256, 2});
  auto pooled = m.node("Flatten", {m.node("GlobalAveragePool", {y})});
  pooled = m.node("Gemm", {pooled, m.random({4, 2}), m.random({2})});
  expect_per_sample(m.finish({z, back, pooled}), 3);
}

TEST(RewriteBatch, ShapeArithmeticThatKeepsTheBatch) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 4, 6});
  const auto shape = m.node("Shape", {x});
  const auto batch = m.node("Slice", {shape, m.integers({0}), m.integers({1})});
  const auto target = m.node("Concat", {batch, m.integers({-1})}, {{"axis", std::int64_t{0}}});
  const auto fixed =
      m.node("Concat", {m.integers({1, 3}), m.node("Slice", {shape, m.integers({2}), m.integers({4})})},
             {{"axis", std::int64_t{0}}});
  auto y = m.node("Reshape", {x, target});
  auto z =
      m.node("Reshape", {m.node("Relu", {y}), fixed});  // spells the batch out in the middle of arithmetic
  auto e = m.node("Expand", {m.node("ReduceMean", {z, m.integers({2, 3})}), m.integers({1, 3, 4, 6})});
  expect_per_sample(m.finish({y, z, e}), 4);
}

TEST(RewriteBatch, SeveralInputsAndABatchThatWasNotOne) {
  GraphMaker m;
  const auto x = m.input("x", {2, 4});
  const auto y = m.input("y", {2, 4});
  const auto z = m.node("Concat", {x, y}, {{"axis", std::int64_t{1}}});
  const ir::Graph g = m.finish({m.node("Add", {m.node("Gemm", {z, m.random({8, 4})}), x})});
  const ir::Graph rewritten = with_shapes(g, {{6, 4}, {6, 4}});
  EXPECT_EQ(*rewritten.value(rewritten.outputs[0]).shape, (Shape{6, 4}));
}

void expect_refused(const ir::Graph& graph, const std::string& culprit) {
  std::vector<Shape> shapes;
  for (const Id id : graph.inputs) {
    shapes.push_back(*graph.value(id).shape);
    shapes.back()[0] *= 4;
  }
  try {
    with_shapes(graph, shapes);
    FAIL() << culprit << " accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported) << e.what();
    EXPECT_NE(std::string(e.what()).find(culprit), std::string::npos) << e.what();
  }
}

TEST(RewriteBatch, RefusesWhatMixesSamples) {
  {
    GraphMaker m;
    expect_refused(m.finish({m.node("ReduceMean", {m.input("x", {1, 3, 4}), m.integers({0})})}),
                   "ReduceMean");
  }
  {
    GraphMaker m;
    expect_refused(m.finish({m.node("Softmax", {m.input("x", {1, 3})}, {{"axis", std::int64_t{0}}})}),
                   "Softmax");
  }
  {
    GraphMaker m;
    const auto x = m.input("x", {1, 3, 4});
    expect_refused(m.finish({m.node("Concat", {x, x}, {{"axis", std::int64_t{0}}})}), "Concat");
  }
  {
    GraphMaker m;
    expect_refused(m.finish({m.transpose(m.input("x", {1, 3, 4}), {1, 0, 2})}), "Transpose");
  }
  {
    GraphMaker m;
    const auto x = m.input("x", {1, 3});
    expect_refused(m.finish({m.node("MatMul", {m.node("Transpose", {x}, {{"perm", Integers{1, 0}}}), x})}),
                   "Transpose");
  }
  {
    GraphMaker m;
    expect_refused(m.finish({m.node("Tile", {m.input("x", {1, 3}), m.integers({2, 1})})}), "Tile");
  }
  {
    GraphMaker m;
    expect_refused(m.finish({m.node(
                       "Slice", {m.input("x", {2, 3}), m.integers({1}), m.integers({2}), m.integers({0})})}),
                   "Slice");
  }
  {
    GraphMaker m;
    expect_refused(m.finish({m.node("Squeeze", {m.input("x", {1, 3})})}), "Squeeze");
  }
  {
    GraphMaker m;
    expect_refused(
        m.finish({m.node("Gather", {m.input("x", {1, 3}), m.integers({0})}, {{"axis", std::int64_t{0}}})}),
        "Gather");
  }
}

// With the batch of expect_refused, 4, all of these have shapes that fit.
TEST(RewriteBatch, RefusesABatchThatIsBroadcastBesideTheLeadingDimension) {
  {
    GraphMaker m;
    const auto x = m.input("x", {1, 5});
    expect_refused(m.finish({m.node("Expand", {x, m.integers({1, 4, 5})})}), "Expand");
  }
  for (const char* op : {"Add", "Where", "PRelu"}) {
    SCOPED_TRACE(op);
    GraphMaker m;
    const auto x = m.input("x", {1, 5});
    const auto y = m.input("y", {1, 4, 5});
    std::vector<Id> inputs{y, x};
    if (std::string(op) == "Where") inputs.insert(inputs.begin(), m.node("Greater", {y, m.scalar(0)}));
    expect_refused(m.finish({m.node(op, inputs)}), op);
  }
  {
    GraphMaker m;
    const auto x = m.input("x", {1, 3});
    const auto bias = m.input("bias", {1});
    expect_refused(m.finish({m.node("Gemm", {x, m.random({3, 4}), bias})}), "Gemm");
  }
}

TEST(RewriteBatch, OnlyTheLeadingDimensionMayChange) {
  GraphMaker m;
  const ir::Graph g = m.finish({m.node("Relu", {m.input("x", {1, 3, 4})})});
  EXPECT_THROW(with_shapes(g, {{1, 3, 5}}), Error);
  EXPECT_THROW(with_shapes(g, {{1, 3}}), Error);
  EXPECT_THROW(with_shapes(g, {}), Error);
  try {
    with_shapes(g, {{1, 3, 5}});
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'x': expected shape 1x3x4, got 1x3x5"), std::string::npos)
        << e.what();
  }
}

TEST(SetShapes, OpenDimensionsTakeWhatIsGiven) {
  GraphMaker m;
  const auto x = m.input("x", {-1, 3, -1, -1});
  m.graph.outputs = {m.node("Relu", {x})};
  const ir::Graph g = with_shapes(m.graph, {{2, 3, 5, 7}});
  EXPECT_EQ(*g.value(g.outputs[0]).shape, (Shape{2, 3, 5, 7}));
}

}  // namespace
}  // namespace saccade::compiler
