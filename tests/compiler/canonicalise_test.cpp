#include "compiler/passes/canonicalise.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Integers = std::vector<std::int64_t>;

TEST(Canonicalise, DropsOperatorsThatDoNothing) {
  GraphMaker m;
  const auto x = m.input("x", {1, 2, 4, 4});
  auto y = m.node("Identity", {x});
  y = m.reshape(y, {1, 2, 4, 4});
  y = m.transpose(y, {0, 1, 2, 3});
  y = m.node("Cast", {y}, {{"to", std::string("float32")}});
  y = m.node("Resize", {y, ir::kNoValue, ir::kNoValue, m.integers({1, 2, 4, 4})},
             {{"mode", std::string("linear")}});
  y = m.node("Slice", {y, m.integers({0}), m.integers({100}), m.integers({2})});
  y = m.node("Pad", {y, m.integers({0, 0, 0, 0, 0, 0, 0, 0})});
  y = m.node("Concat", {y}, {{"axis", std::int64_t{1}}});
  y = m.node("Add", {y, m.scalar(0)});
  y = m.node("Mul", {m.scalar(1), y});
  const ir::Graph g = apply(canonicalise, m.finish({m.node("Relu", {y})}));
  EXPECT_EQ(g.nodes.size(), 1u);
}

TEST(Canonicalise, CountsTheOrderOfATransposeFromTheFront) {
  GraphMaker m;
  const auto x = m.input("x", {3, 3});
  const ir::Graph g = apply(canonicalise, m.finish({m.node("Relu", {m.transpose(x, {-1, 0})})}));
  ASSERT_EQ(count(g, "Transpose"), 1u);  // in ascending order, and yet it exchanges
  EXPECT_EQ(find(g, "Transpose")->integers("perm"), (Integers{1, 0}));
}

TEST(Canonicalise, KeepsLookAlikesThatDoSomething) {
  GraphMaker m;
  const auto x = m.input("x", {1, 2, 4, 4});
  auto y = m.transpose(x, {0, 1, 3, 2});  // same shape
  y = m.node("Slice",
             {y, m.integers({-1}), m.integers({-100}), m.integers({2}), m.integers({-1})});  // reversed
  y = m.node("Add", {y, m.random({4, 1, 1, 1})});
  y = m.node("Mul", {y, m.scalar(1.5f)});
  const ir::Graph g = apply(canonicalise, m.finish({y}));
  EXPECT_EQ(count(g, "Transpose"), 1u);
  EXPECT_EQ(count(g, "Slice"), 1u);
  EXPECT_EQ(count(g, "Add"), 1u);
  EXPECT_EQ(count(g, "Mul"), 1u);
}

TEST(Canonicalise, AddOfZeroThatBroadcastsStays) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3});
  const ir::Graph g = apply(canonicalise, m.finish({m.node("Add", {x, m.floats({2, 1}, {0, 0})})}));
  EXPECT_EQ(count(g, "Add"), 1u);
}

TEST(Canonicalise, RenamesBecomeOneReshape) {
  GraphMaker m;
  const auto x = m.input("x", {1, 2, 4, 4});
  auto y = m.node("Flatten", {x}, {{"axis", std::int64_t{1}}});
  y = m.node("Unsqueeze", {y, m.integers({0, 3})});
  y = m.node("Squeeze", {y, m.integers({3})});
  y = m.reshape(y, {-1, 8});
  const ir::Graph g = apply(canonicalise, m.finish({y}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op, "Reshape");
  EXPECT_EQ(g.constant_input(g.nodes[0], 1)->data<std::int64_t>()[0], 4);
}

TEST(Canonicalise, ReshapeUsedTwiceStaysForTheOther) {
  GraphMaker m;
  const auto x = m.input("x", {2, 6});
  const auto y = m.reshape(x, {3, 4});
  const ir::Graph g = apply(canonicalise, m.finish({m.reshape(y, {12}), m.node("Relu", {y})}));
  EXPECT_EQ(count(g, "Reshape"), 2u);
}

TEST(Canonicalise, AutomaticPaddingBecomesExplicit) {
  for (const char* mode : {"same_upper", "same_lower", "valid"}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      GraphMaker m;
      const auto x = m.input("x", {1, 2, 7, 8});
      const ir::Attributes window{{"auto_pad", std::string(mode)}, {"strides", Integers{stride, stride}}};
      auto conv = window;
      conv["dilations"] = Integers{2, 1};
      const auto a = m.node("Conv", {x, m.random({3, 2, 3, 4})}, conv);
      auto pool = window;
      pool["kernel_shape"] = Integers{3, 2};
      const auto b = m.node("MaxPool", {x}, pool);
      const auto c = m.node("AveragePool", {x}, pool);
      const auto d = m.node("ConvTranspose", {x, m.random({2, 3, 3, 4})}, window);
      const ir::Graph before = m.finish({a, b, c, d});
      const ir::Graph g = apply(canonicalise, before);
      for (const ir::Node& node : g.nodes) {
        EXPECT_FALSE(node.has("auto_pad")) << node.op;
        EXPECT_TRUE(node.has("pads")) << node.op;
      }
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(*g.value(g.outputs[i]).shape, *before.value(before.outputs[i]).shape)
            << mode << stride << i;
    }
  }
}

TEST(Canonicalise, OutputShapeOfTransposedConvolution) {
  for (const std::int64_t size : {5, 6, 7, 8}) {
    GraphMaker m;
    const auto x = m.input("x", {1, 1, 1, 3});
    const auto y = m.node("ConvTranspose", {x, m.floats({1, 1, 1, 3}, {1, 10, 100})},
                          {{"strides", Integers{1, 2}}, {"output_shape", Integers{1, size}}});
    const ir::Graph g = apply(canonicalise, m.finish({y}));
    EXPECT_FALSE(g.nodes[0].has("output_shape"));
    EXPECT_EQ((*g.value(g.outputs[0]).shape)[3], size);
  }
}

TEST(Canonicalise, PoolsOverThePlaneBecomeReductions) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3, 4, 5});
  const auto whole = Integers{4, 5};
  const ir::Graph g =
      apply(canonicalise, m.finish({m.node("GlobalAveragePool", {x}), m.node("GlobalMaxPool", {x}),
                                    m.node("AveragePool", {x}, {{"kernel_shape", whole}}),
                                    m.node("MaxPool", {x}, {{"kernel_shape", whole}})}));
  EXPECT_EQ(count(g, "ReduceMean"), 2u);
  EXPECT_EQ(count(g, "ReduceMax"), 2u);
}

TEST(Canonicalise, OtherPoolsStay) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3, 4, 5});
  const auto padded = m.node("AveragePool", {x},
                             {{"kernel_shape", Integers{4, 5}},
                              {"pads", Integers{1, 0, 0, 0}},
                              {"count_include_pad", std::int64_t{1}}});
  const auto partial = m.node("AveragePool", {x}, {{"kernel_shape", Integers{4, 4}}});
  const auto indices = m.node("MaxPool", {x}, {{"kernel_shape", Integers{4, 5}}}, 2);
  const ir::Graph g = apply(canonicalise, m.finish({padded, partial, indices, indices + 1}));
  EXPECT_EQ(count(g, "AveragePool"), 2u);
  EXPECT_EQ(count(g, "MaxPool"), 1u);
}

TEST(Canonicalise, ReductionsKeepTheirDimensions) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3, 4, 5});
  const auto y = m.node("ReduceMean", {x, m.integers({-1, 2})}, {{"keepdims", std::int64_t{0}}});
  const auto z = m.node("ReduceSum", {x}, {{"keepdims", std::int64_t{0}}});
  const ir::Graph g = apply(canonicalise, m.finish({y, z}));
  const ir::Node* mean = find(g, "ReduceMean");
  ASSERT_NE(mean, nullptr);
  EXPECT_EQ(mean->integer("keepdims", 0), 1);
  EXPECT_EQ(g.constant_input(*mean, 1)->data<std::int64_t>()[0], 2);
  EXPECT_EQ(count(g, "Reshape"), 2u);
}

TEST(Canonicalise, ConstantsChangeSides) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3});
  const auto a = m.node("Sub", {x, m.random({3})});
  const auto b = m.node("Div", {a, m.floats({3}, {2, 3, -4})});
  const auto c = m.node("Pow", {b, m.scalar(2)});
  const ir::Graph g = apply(canonicalise, m.finish({c}));
  EXPECT_EQ(count(g, "Sub") + count(g, "Div") + count(g, "Pow"), 0u);
}

TEST(Canonicalise, DivisionThatIsRoundedStays) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 2, 2});
  const auto units = m.node("Div", {x, m.scalar(0.0371f)});
  const ir::Graph g = apply(canonicalise, m.finish({m.node("Round", {units})}));
  EXPECT_EQ(count(g, "Div"), 1u);
}

TEST(Canonicalise, DivisionByZeroAndOfConstantsStay) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3});
  const auto a = m.node("Div", {x, m.floats({3}, {2, 0, -4})});
  const auto b = m.node("Sub", {m.scalar(1), x});
  const ir::Graph g = apply(canonicalise, m.finish({a, b}));
  EXPECT_EQ(count(g, "Div"), 1u);
  EXPECT_EQ(count(g, "Sub"), 1u);
}

TEST(Canonicalise, OperandsGetTheRankOfTheResult) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3, 4, 5});
  const auto y = m.input("y", {4, 1});
  const auto a = m.node("Mul", {x, m.random({3, 1, 1})});
  const ir::Graph g = apply(canonicalise, m.finish({m.node("Add", {a, y})}));
  for (const ir::Node& node : g.nodes) {
    if (node.op == "Reshape") continue;
    for (const ir::ValueId id : node.inputs) EXPECT_EQ(g.value(id).shape->size(), 4u) << node.op;
  }
}

}  // namespace
}  // namespace saccade::compiler
