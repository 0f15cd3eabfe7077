#include "compiler/passes/fuse_activation.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/fuse_residual.h"
#include "compiler/passes/fuse_residual_last.h"
#include "compiler/passes/fuse_resize_arg_max.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;

TEST(FuseActivation, AllKindsIntoAllOperators) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const auto rows = m.input("rows", {3, 4}), moved = m.input("moved", {1, 2, 6, 6});
  const std::vector<Id> outputs{
      m.node("Relu", {m.conv(x, 4, 8)}),
      m.node("Clip", {m.conv(x, 4, 8), m.scalar(-0.25f), m.scalar(0.25f)}),
      m.node("Clip", {m.conv(x, 4, 8), ir::kNoValue, m.scalar(0.25f)}),
      m.node("LeakyRelu", {m.conv(x, 4, 8)}, {{"alpha", 0.2f}}),
      m.node("LeakyRelu", {m.node("InstanceNormalization", {x, m.random({4}), m.random({4})})},
             {{"alpha", 0.2f}}),
      m.node("Relu", {m.node("DeformConv", {x, m.random({5, 4, 1, 1}), moved})}),
      m.node("Sigmoid", {m.node("ConvTranspose", {x, m.random({4, 2, 2, 2})})}),
      m.node("HardSigmoid", {m.conv(x, 4, 8)}, {{"alpha", 0.3f}, {"beta", 0.4f}}),
      m.node("HardSwish", {m.conv(x, 4, 8)}),
      m.node("Silu", {m.node("MatMul", {rows, m.random({4, 5})})}),
      m.node("Tanh", {m.node("Gemm", {rows, m.random({4, 5}), m.random({5})})}),
  };
  const ir::Graph g = apply(fuse_activation, m.finish(outputs));
  EXPECT_EQ(g.nodes.size(), outputs.size());
  for (const ir::Node& node : g.nodes) EXPECT_NE(node.text("activation", "none"), "none") << node.op;
}

TEST(FuseActivation, NotTwiceNotSharedNotByData) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 6});
  const auto bound = m.input("bound", {});
  const auto shared = m.conv(x, 4, 8);
  const auto output = m.conv(x, 4, 8);
  const std::vector<Id> outputs{
      m.node("Sigmoid", {m.node("Relu", {m.conv(x, 4, 8)})}),
      m.node("Relu", {shared}),
      m.node("Neg", {shared}),
      output,
      m.node("Relu", {output}),
      m.node("Clip", {m.conv(x, 4, 8), bound}),
      m.node("Relu", {m.node("MaxPool", {x}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}})}),
  };
  const ir::Graph g = apply(fuse_activation, m.finish(outputs));
  EXPECT_EQ(count(g, "Relu"), 3u);
  EXPECT_EQ(count(g, "Sigmoid"), 1u);
  EXPECT_EQ(count(g, "Clip"), 1u);
}

TEST(FuseResidual, ThenActivation) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 6, 6});
  const auto y = m.node("Relu", {m.node("Add", {x, m.conv(x, 8, 8)})});
  ir::Graph g = apply(fuse_residual, m.finish({y}));
  ASSERT_EQ(g.nodes.size(), 2u);
  ASSERT_TRUE(g.nodes[0].has_input(3));
  g = apply(fuse_activation, g);
  EXPECT_EQ(g.nodes.size(), 1u);
}

TEST(FuseResidual, MovesTheConvolutionBehindItsResidual) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 6, 6});
  const auto conv = m.conv(x, 8, 8);
  const auto later = m.node("Sigmoid", {m.node("Neg", {x})});
  const ir::Graph g = apply(fuse_residual, m.finish({m.node("Add", {conv, later})}));
  EXPECT_EQ(count(g, "Add"), 0u);
  EXPECT_EQ(g.nodes.back().op, "Conv");
}

TEST(FuseResidual, LaterOfTwoConvolutionsTakesTheSum) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 6, 6});
  const auto a = m.conv(x, 8, 8);
  const auto b = m.conv(x, 8, 8);
  const ir::Graph g = apply(fuse_residual, m.finish({m.node("Add", {b, a})}));
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_FALSE(g.nodes[0].has_input(3));
  EXPECT_TRUE(g.nodes[1].has_input(3));
}

TEST(FuseResidual, NotWhereItMustNot) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 6, 6});
  const auto shared = m.conv(x, 8, 8);
  const auto output = m.conv(x, 8, 8);
  const auto twice = m.conv(x, 8, 8);
  const auto active = m.conv(x, 8, 8);
  m.graph.nodes.back().attributes["activation"] = std::string("relu");
  const std::vector<Id> outputs{
      m.node("Add", {m.conv(x, 8, 8), m.random({1, 8, 1, 1})}),  // broadcast
      m.node("Add", {shared, x}),
      m.node("Neg", {shared}),
      output,
      m.node("Add", {output, x}),
      m.node("Add", {twice, twice}),
      m.node("Add", {active, x}),
      m.node("Sub", {m.conv(x, 8, 8), x}),
      m.node("Add", {m.node("ConvTranspose", {x, m.random({8, 8, 1, 1})}), x}),
  };
  const ir::Graph before = m.finish(outputs);
  const ir::Graph g = apply(fuse_residual, before);
  EXPECT_EQ(count(g, "Add"), count(before, "Add"));
}

TEST(FuseResidualLast, BehindTheActivation) {
  for (const bool swapped : {false, true}) {
    GraphMaker m;
    const auto x = m.input("x", {1, 8, 6, 6});
    const auto y = m.node("Relu", {m.conv(x, 8, 8, 3, 1, 8)});
    const auto later = m.node("Neg", {x});
    ir::Graph g =
        apply(fuse_activation,
              m.finish({m.node("Add", swapped ? std::vector<Id>{later, y} : std::vector<Id>{y, later})}));
    g = apply(fuse_residual_last, g);
    ASSERT_EQ(g.nodes.size(), 2u);
    EXPECT_TRUE(g.nodes[1].has_input(3));
    EXPECT_EQ(g.nodes[1].integer("residual_last", 0), 1);
  }
}

TEST(FuseResidualLast, NotWhereItMustNot) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 6, 6});
  const auto active = [&](std::int64_t group, const char* name) {
    const auto y = m.conv(x, 8, 8, 3, 1, group);
    m.graph.nodes.back().attributes["activation"] = std::string(name);
    return y;
  };
  const auto shared = active(8, "relu");
  const auto output = active(8, "relu");
  const std::vector<Id> outputs{
      m.node("Add", {active(1, "relu"), x}),     // dense
      m.node("Add", {active(4, "relu"), x}),     // groups of two
      m.node("Add", {active(8, "sigmoid"), x}),  // not in registers
      m.node("Add", {active(8, "none"), x}),     // no activation: an ordinary residual
      m.node("Add", {active(8, "relu"), m.random({1, 8, 1, 1})}),
      m.node("Add", {shared, x}),
      m.node("Neg", {shared}),
      output,
      m.node("Add", {output, x}),
  };
  const ir::Graph before = m.finish(outputs);
  EXPECT_EQ(count(apply(fuse_residual_last, before), "Add"), count(before, "Add"));
}

TEST(FuseElementwise, OneChainWithBroadcastsAndLiterals) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3, 4, 5});
  const auto s = m.input("s", {1, 3, 1, 1});
  auto y = m.node("Mul", {x, s});
  y = m.node("Add", {y, m.scalar(0.1f)});
  y = m.node("Clip", {y, m.scalar(-0.3f), ir::kNoValue});
  const auto z = m.node("LeakyRelu", {y}, {{"alpha", 0.1f}});
  y = m.node("Mul", {y, z});  // both inside
  const ir::Graph g = apply(fuse_elementwise, m.finish({m.node("Sub", {y, x})}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op, "ElementwiseChain");
  EXPECT_EQ(g.nodes[0].inputs.size(), 2u);
}

TEST(FuseElementwise, EndsAtOutputsAndOtherUses) {
  GraphMaker m;
  const auto x = m.input("x", {1, 2, 4, 4});
  const auto a = m.node("Neg", {m.node("Abs", {x})});      // output
  const auto b = m.node("Exp", {m.node("Sigmoid", {a})});  // read by a pool too
  const auto pool = m.node("MaxPool", {b}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
  const auto c = m.node("Relu", {m.node("Tanh", {b})});
  const ir::Graph g = apply(fuse_elementwise, m.finish({a, pool, c}));
  EXPECT_EQ(count(g, "ElementwiseChain"), 3u);
  EXPECT_EQ(g.nodes.size(), 4u);
}

TEST(FuseElementwise, NotAcrossSizesAndTypes) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3, 4, 5});
  const auto small =
      m.node("Sigmoid", {m.input("s", {2, 3, 1, 1})});  // cheaper on its own than at every pixel
  const auto y = m.node("Mul", {x, small});
  const auto i = m.input("i", {4}, DType::i64);
  const auto j = m.node("Add", {m.node("Mul", {i, i}), i});
  const ir::Graph g = apply(fuse_elementwise, m.finish({y, j}));
  EXPECT_EQ(count(g, "ElementwiseChain"), 0u);
}

TEST(FuseElementwise, ConstantThatGivesTheRankIsNoLiteral) {
  GraphMaker m;
  const auto x = m.input("x", {});
  const auto y = m.node("Neg", {m.node("Add", {x, m.floats({1, 1}, {2})})});
  const ir::Graph g = apply(fuse_elementwise, m.finish({y}));
  EXPECT_EQ(g.value(g.outputs[0]).shape->size(), 2u);
}

ir::Attributes resize_to_pixels(const char* mode = "linear") {
  return {{"mode", std::string(mode)}, {"axes", std::vector<std::int64_t>{2, 3}}};
}

TEST(FuseResizeArgMax, WithAndWithoutTheChannelsDimension) {
  GraphMaker m;
  const auto x = m.input("x", {2, 5, 4, 6});
  std::vector<Id> outputs;
  for (const char* mode : {"linear", "nearest"})
    for (const std::int64_t keepdims : {0, 1})
      for (const std::int64_t axis : {1, -3}) {
        const auto large =
            m.node("Resize", {x, ir::kNoValue, ir::kNoValue, m.integers({9, 13})}, resize_to_pixels(mode));
        outputs.push_back(m.node("ArgMax", {large}, {{"axis", axis}, {"keepdims", keepdims}}));
      }
  const ir::Graph g = apply(fuse_resize_arg_max, m.finish(outputs));
  EXPECT_EQ(count(g, "ResizeArgMax"), outputs.size());
  EXPECT_EQ(count(g, "ArgMax") + count(g, "Resize"), 0u);
}

TEST(FuseResizeArgMax, NotWhereTheLogitsAreNeededOrDoNotLieBetweenPixels) {
  GraphMaker m;
  const auto x = m.input("x", {1, 5, 8, 8});
  const auto size = m.integers({16, 16}), half = m.integers({4, 4});
  const auto shared = m.node("Resize", {x, ir::kNoValue, ir::kNoValue, size}, resize_to_pixels());
  const auto cubic = m.node("Resize", {x, ir::kNoValue, ir::kNoValue, size}, resize_to_pixels("cubic"));
  const auto reduced = m.node("Resize", {x, ir::kNoValue, ir::kNoValue, half}, resize_to_pixels());
  const auto other = m.node("Resize", {x, ir::kNoValue, ir::kNoValue, size}, resize_to_pixels());
  const auto last = m.node("Resize", {x, ir::kNoValue, ir::kNoValue, size}, resize_to_pixels());
  const ir::Attributes channels{{"axis", std::int64_t{1}}};
  const std::vector<Id> outputs{
      shared,
      m.node("ArgMax", {shared}, channels),
      m.node("ArgMax", {cubic}, channels),
      m.node("ArgMax", {reduced}, channels),
      m.node("ArgMax", {other}, {{"axis", std::int64_t{2}}}),
      m.node("ArgMax", {last}, {{"axis", std::int64_t{1}}, {"select_last_index", std::int64_t{1}}}),
  };
  const ir::Graph g = apply(fuse_resize_arg_max, m.finish(outputs));
  EXPECT_EQ(count(g, "ResizeArgMax"), 0u);
}

}  // namespace
}  // namespace saccade::compiler
