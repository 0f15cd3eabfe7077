#include "compiler/passes/fold_batch_norm.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;
using Id = ir::ValueId;

Id batch_norm(GraphMaker& m, Id x, std::int64_t channels) {
  return m.node(
      "BatchNormalization",
      {x, m.random({channels}), m.random({channels}), m.random({channels}), m.random({channels}, 0.5f, 2)},
      {{"epsilon", 1e-3f}});
}

TEST(FoldBatchNorm, IntoConvolution) {
  for (const std::int64_t group : {1, 2, 4}) {
    GraphMaker m;
    const auto x = m.input("x", {1, 4, 6, 6});
    const ir::Graph g = apply(fold_batch_norm, m.finish({batch_norm(m, m.conv(x, 4, 8, 3, 1, group), 8)}));
    EXPECT_EQ(g.nodes.size(), 1u);
  }
}

TEST(FoldBatchNorm, IntoConvolutionWithoutBias) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const auto conv = m.node("Conv", {x, m.random({5, 4, 1, 1})});
  const ir::Graph g = apply(fold_batch_norm, m.finish({batch_norm(m, conv, 5)}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_TRUE(g.nodes[0].has_input(2));
}

TEST(FoldBatchNorm, IntoTransposedConvolution) {
  for (const std::int64_t group : {1, 2}) {
    GraphMaker m;
    const auto x = m.input("x", {1, 4, 3, 3});
    const auto conv = m.node("ConvTranspose", {x, m.random({4, 6 / group, 2, 2}), m.random({6})},
                             {{"strides", std::vector<std::int64_t>{2, 2}}, {"group", group}});
    const ir::Graph g = apply(fold_batch_norm, m.finish({batch_norm(m, conv, 6)}));
    EXPECT_EQ(g.nodes.size(), 1u) << group;
  }
}

TEST(FoldBatchNorm, IntoDeformedConvolution) {
  for (const bool biased : {false, true}) {
    GraphMaker m;
    const auto x = m.input("x", {1, 4, 5, 6}), offsets = m.input("offsets", {1, 8, 4, 5}),
               mask = m.input("mask", {1, 4, 4, 5});
    const auto conv = m.node(
        "DeformConv", {x, m.random({6, 2, 2, 2}), offsets, biased ? m.random({6}) : ir::kNoValue, mask},
        {{"group", std::int64_t{2}}});
    const ir::Graph g = apply(fold_batch_norm, m.finish({batch_norm(m, conv, 6)}));
    ASSERT_EQ(g.nodes.size(), 1u) << biased;
    EXPECT_TRUE(g.nodes[0].has_input(3));
    EXPECT_EQ(g.nodes[0].inputs[4], mask);
  }
}

TEST(FoldBatchNorm, IntoGemm) {
  for (const std::int64_t transposed : {0, 1}) {
    GraphMaker m;
    const auto x = m.input("x", {3, 4});
    const auto gemm =
        m.node("Gemm", {x, m.random(transposed != 0 ? Shape{5, 4} : Shape{4, 5}), m.random({5})},
               {{"transB", transposed}});
    const auto y = m.node("Add", {m.node("Mul", {gemm, m.random({1, 5})}), m.random({1, 5})});
    const ir::Graph g = apply(fold_batch_norm, m.finish({y}));
    EXPECT_EQ(g.nodes.size(), 1u);
  }
}

TEST(FoldBatchNorm, MatMulWithBiasBecomesGemm) {
  GraphMaker m;
  const auto x = m.input("x", {3, 4});
  const ir::Graph g =
      apply(fold_batch_norm,
            m.finish({m.node("Add", {m.node("MatMul", {x, m.random({4, 5})}), m.random({1, 5})})}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op, "Gemm");
}

TEST(FoldBatchNorm, ScalesAndOffsetsByConstants) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  auto y = m.conv(x, 4, 8);
  y = m.node("Mul", {m.random({1, 8, 1, 1}), y});
  y = m.node("Add", {y, m.random({8, 1, 1})});
  y = m.node("Mul", {y, m.scalar(0.5f)});
  const ir::Graph g = apply(fold_batch_norm, m.finish({y}));
  EXPECT_EQ(g.nodes.size(), 1u);
}

TEST(FoldBatchNorm, ScaleInFrontOfAConvolution) {
  for (const std::int64_t group : {1, 2}) {
    GraphMaker m;
    const auto x = m.input("x", {1, 4, 6, 6});
    const auto y = m.node("Mul", {x, m.random({1, 4, 1, 1})});
    const ir::Graph g = apply(fold_batch_norm, m.finish({m.conv(y, 4, 8, 3, 1, group)}));
    EXPECT_EQ(g.nodes.size(), 1u);
  }
}

TEST(FoldBatchNorm, AloneBecomesScaleAndOffset) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const ir::Graph g = apply(fold_batch_norm, m.finish({m.node("Relu", {batch_norm(m, x, 4)})}));
  EXPECT_EQ(count(g, "BatchNormalization"), 0u);
  EXPECT_EQ(count(g, "Mul"), 1u);
  EXPECT_EQ(count(g, "Add"), 1u);
}

TEST(FoldBatchNorm, NotWhereTheConvolutionIsUsedTwice) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const auto conv = m.conv(x, 4, 8);
  const ir::Graph g = apply(fold_batch_norm, m.finish({batch_norm(m, conv, 8), m.node("Relu", {conv})}));
  EXPECT_EQ(count(g, "Mul"), 1u);
}

TEST(FoldBatchNorm, NotWhereTheConvolutionIsAnOutput) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const auto conv = m.conv(x, 4, 8);
  const ir::Graph g = apply(fold_batch_norm, m.finish({conv, m.node("Add", {conv, m.random({1, 8, 1, 1})})}));
  EXPECT_EQ(count(g, "Add"), 1u);
}

TEST(FoldBatchNorm, NotForOtherBroadcasts) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const auto a =
      m.node("Add", {m.conv(x, 4, 6), m.random({1, 1, 1, 6})});  // along the width, as long as the channels
  const auto b = m.node("Mul", {m.conv(x, 4, 1), m.random({1, 5, 1, 1})});  // makes it larger
  const auto c = m.node("Add", {m.conv(x, 4, 6), m.input("y", {1, 6, 1, 1})});
  const ir::Graph g = apply(fold_batch_norm, m.finish({a, b, c}));
  EXPECT_EQ(g.nodes.size(), 6u);
}

TEST(FoldBatchNorm, NotBehindAnActivation) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const auto conv = m.conv(x, 4, 8);
  m.graph.nodes.back().attributes["activation"] = std::string("relu");
  const ir::Graph g = apply(fold_batch_norm, m.finish({m.node("Add", {conv, m.random({1, 8, 1, 1})})}));
  EXPECT_EQ(count(g, "Add"), 1u);
}

TEST(FoldBatchNorm, NotIntoWeightsThatAreComputed) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const auto w = m.input("w", {8, 4, 1, 1});
  const ir::Graph g =
      apply(fold_batch_norm, m.finish({m.node("Add", {m.node("Conv", {x, w}), m.random({1, 8, 1, 1})})}));
  EXPECT_EQ(count(g, "Add"), 1u);
}

}  // namespace
}  // namespace saccade::compiler
