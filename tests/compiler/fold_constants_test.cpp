#include "compiler/passes/fold_constants.h"

#include "compiler/passes/common_subexpressions.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;

TEST(FoldConstants, EvaluatesShapeArithmetic) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 5, 6});
  const auto shape = m.node("Shape", {x});
  const auto height = m.node("Gather", {shape, m.integers({2})}, {{"axis", std::int64_t{0}}});
  const auto target =
      m.node("Concat", {m.integers({1}), height, m.integers({-1})}, {{"axis", std::int64_t{0}}});
  const ir::Graph g = apply(fold_constants, m.finish({m.node("Reshape", {x, target})}));
  EXPECT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(count(g, "Reshape"), 1u);
  EXPECT_EQ(*g.value(g.outputs[0]).shape, (Shape{1, 5, 24}));
}

TEST(FoldConstants, FoldsChainsOfConstantsIntoOne) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3});
  const auto w = m.node("Mul", {m.node("Add", {m.random({2, 3}), m.scalar(1)}), m.random({3})});
  const ir::Graph g = apply(fold_constants, m.finish({m.node("Add", {x, w})}));
  EXPECT_EQ(g.nodes.size(), 1u);
}

TEST(FoldConstants, LeavesWhatWouldGrowALot) {
  GraphMaker m;
  const auto x = m.input("x", {1024, 1024});
  const auto plane = m.node("Expand", {m.scalar(2), m.integers({1024, 1024})});
  const ir::Graph g = apply(fold_constants, m.finish({m.node("Add", {x, plane})}));
  EXPECT_EQ(count(g, "Expand"), 1u);
}

TEST(FoldConstants, LeavesWhatDependsOnInputs) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3});
  const ir::Graph g = apply(fold_constants, m.finish({m.node("Relu", {m.node("Add", {x, m.scalar(1)})})}));
  EXPECT_EQ(g.nodes.size(), 2u);
}

TEST(FoldConstants, AnOutputMayBecomeConstant) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3});
  const ir::Graph g = apply(fold_constants, m.finish({m.node("Shape", {x}), m.node("Relu", {x})}));
  EXPECT_EQ(g.nodes.size(), 1u);
  ASSERT_TRUE(g.value(g.outputs[0]).constant.has_value());
  EXPECT_EQ(g.value(g.outputs[0]).constant->data<std::int64_t>()[1], 3);
}

TEST(DeadCode, DropsNodesAndUnusedOutputs) {
  GraphMaker m;
  const auto x = m.input("x", {1, 2, 4, 4});
  const auto pool = m.node("MaxPool", {x}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}, 2);
  m.node("Relu", {x});
  const ir::Graph g = apply(dead_code, m.finish({pool}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].outputs.size(), 1u);
  EXPECT_EQ(g.values.size(), 2u);
}

TEST(DeadCode, KeepsTheNumberOfOutputsWhereItMeansSomething) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6});
  const auto first = m.node("Split", {x}, {{"axis", std::int64_t{1}}}, 3);  // thirds
  const ir::Graph g = apply(dead_code, m.finish({first}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].outputs.size(), 3u);
}

TEST(DeadCode, KeepsWhatAnOutputNeeds) {
  GraphMaker m;
  const auto x = m.input("x", {2});
  const auto a = m.node("Relu", {x});
  const ir::Graph g = apply(dead_code, m.finish({m.node("Neg", {a}), a}));
  EXPECT_EQ(g.nodes.size(), 2u);
}

TEST(CommonSubexpressions, KeepsOneOfEqualNodes) {
  GraphMaker m;
  const auto x = m.input("x", {1, 2, 4, 4});
  const auto a = m.node("LeakyRelu", {x}, {{"alpha", 0.1f}});
  const auto b = m.node("LeakyRelu", {x}, {{"alpha", 0.1f}});
  const auto c = m.node("LeakyRelu", {x}, {{"alpha", 0.2f}});
  const ir::Graph g = apply(common_subexpressions, m.finish({m.node("Add", {m.node("Add", {a, b}), c})}));
  EXPECT_EQ(count(g, "LeakyRelu"), 2u);
}

TEST(CommonSubexpressions, AxesOfTheSameValuesAreTheSame) {
  GraphMaker m;
  const auto x = m.input("x", {1, 2, 4, 4});
  const auto mean = [&](const std::vector<std::int64_t>& axes) {
    return m.node("ReduceMean", {x, m.integers(axes)}, {{"keepdims", std::int64_t{1}}});
  };
  const auto a = mean({2, 3}), b = mean({2, 3}), c = mean({3, 2}), d = mean({2});
  const ir::Graph g = apply(common_subexpressions, m.finish({m.node("Add", {m.node("Add", {a, b}), c}), d}));
  EXPECT_EQ(count(g, "ReduceMean"), 3u);
}

}  // namespace
}  // namespace saccade::compiler
