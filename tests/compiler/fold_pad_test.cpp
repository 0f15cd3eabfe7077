#include "compiler/passes/fold_pad.h"

#include <limits>

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

Id pad(GraphMaker& m, Id x, const Integers& pads, float value = 0, const std::string& mode = "constant") {
  return m.node("Pad", {x, m.integers(pads), m.scalar(value)}, {{"mode", mode}});
}

TEST(FoldPad, ZerosIntoConvolution) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const ir::Graph g = apply(fold_pad, m.finish({m.conv(pad(m, x, {0, 0, 0, 1, 0, 0, 2, 3}), 4, 8, 3, 2)}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].integers("pads"), (Integers{1, 2, 3, 4}));
}

TEST(FoldPad, WithAxes) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const auto padded = m.node("Pad", {x, m.integers({1, 2}), ir::kNoValue, m.integers({-1})});
  const ir::Graph g = apply(fold_pad, m.finish({m.conv(padded, 4, 8)}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].integers("pads"), (Integers{1, 2, 1, 3}));
}

TEST(FoldPad, IntoAveragePoolThatCountsItsPads) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const auto y =
      m.node("AveragePool", {pad(m, x, {0, 0, 1, 1, 0, 0, 0, 1})}, {{"kernel_shape", Integers{3, 3}}});
  const ir::Graph g = apply(fold_pad, m.finish({y}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].integer("count_include_pad", 0), 1);
}

TEST(FoldPad, IntoMaxPool) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const ir::Attributes window{{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}};
  const auto low = m.node(
      "MaxPool", {pad(m, x, {0, 0, 1, 1, 0, 0, 1, 1}, -std::numeric_limits<float>::infinity())}, window);
  const auto positive = m.node("MaxPool", {pad(m, m.node("Relu", {x}), {0, 0, 1, 1, 0, 0, 1, 1})}, window);
  const ir::Graph g = apply(fold_pad, m.finish({low, positive}));
  EXPECT_EQ(count(g, "Pad"), 0u);
}

TEST(FoldPad, NotZerosIntoMaxPoolOfNegatives) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const ir::Graph g = apply(fold_pad, m.finish({m.node("MaxPool", {pad(m, x, {0, 0, 1, 1, 0, 0, 1, 1})},
                                                       {{"kernel_shape", Integers{3, 3}}})}));
  EXPECT_EQ(count(g, "Pad"), 1u);
}

TEST(FoldPad, NotWhenInexact) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 7});
  const auto shared = pad(m, x, {0, 0, 1, 1, 0, 0, 1, 1});
  const std::vector<Id> outputs{
      m.conv(pad(m, x, {0, 0, 1, 1, 0, 0, 1, 1}, 1), 4, 8),             // not zero
      m.conv(pad(m, x, {0, 0, 1, 1, 0, 0, 1, 1}, 0, "reflect"), 4, 8),  // not constant
      m.conv(pad(m, x, {0, 1, 0, 0, 0, 0, 0, 0}), 5, 8),                // channels
      m.conv(pad(m, x, {0, 0, -1, 0, 0, 0, 0, 0}), 4, 8),               // crops
      m.conv(shared, 4, 8),
      m.node("Relu", {shared}),  // used twice
      m.node(
          "AveragePool", {pad(m, x, {0, 0, 1, 1, 0, 0, 1, 1})},
          {{"kernel_shape", Integers{3, 3}}, {"pads", Integers{1, 1, 1, 1}}}),  // counts these and not those
      // One window fewer at the end if what it starts in is padding.
      m.node("AveragePool", {pad(m, x, {0, 0, 0, 0, 0, 0, 2, 2})},
             {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{3, 3}}, {"ceil_mode", std::int64_t{1}}}),
      m.node("MaxPool", {pad(m, m.node("Relu", {x}), {0, 0, 0, 0, 0, 0, 2, 2})},
             {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{3, 3}}, {"ceil_mode", std::int64_t{1}}}),
  };
  const ir::Graph before = m.finish(outputs);
  const ir::Graph g = apply(fold_pad, before);
  EXPECT_EQ(count(g, "Pad"), count(before, "Pad"));
}

}  // namespace
}  // namespace saccade::compiler
