#include "compiler/passes/eliminate_transposes.h"

#include "compiler/passes/canonicalise.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

// A convolution as an importer of a channels-last format writes it.
Id conv_nhwc(GraphMaker& m, Id x, std::int64_t in, std::int64_t out, std::int64_t k = 3,
             std::int64_t stride = 1) {
  return m.to_nhwc(m.conv(m.to_nchw(x), in, out, k, stride));
}

TEST(EliminateTransposes, OnlyTheBoundariesStay) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 8, 3});
  auto a = m.node("Relu", {conv_nhwc(m, x, 3, 4)});
  auto b = m.node("HardSwish", {conv_nhwc(m, a, 4, 4)});
  auto c = m.node("Add", {a, b});
  auto d = m.node("Concat", {c, b, a}, {{"axis", std::int64_t{3}}});
  auto e = m.node("ReduceMean", {d, m.integers({1, 2})}, {{"keepdims", std::int64_t{1}}});
  auto f = m.node("Sigmoid", {conv_nhwc(m, e, 12, 12, 1)});
  auto g = m.node("Mul", {d, f});
  auto h = m.node("Pad", {g, m.integers({0, 1, 2, 0, 0, 0, 1, 0})});
  auto i = m.node("Softmax", {conv_nhwc(m, h, 12, 5)}, {{"axis", std::int64_t{-1}}});
  const ir::Graph before = m.finish({i});
  const ir::Graph after = apply(canonicalise, apply(eliminate_transposes, before));
  EXPECT_EQ(count(after, "Transpose"), 2u);
  EXPECT_EQ(after.nodes.front().op, "Transpose");
  EXPECT_EQ(after.nodes.back().op, "Transpose");
}

TEST(EliminateTransposes, ConstantsTurnWithTheirOperator) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 7, 3});
  auto y = m.node("Mul", {conv_nhwc(m, x, 3, 4), m.random({1, 1, 1, 4})});
  y = m.node("Add", {y, m.random({1, 6, 7, 4})});
  y = m.node("Add", {y, m.scalar(2)});
  const ir::Graph g = apply(eliminate_transposes, m.finish({conv_nhwc(m, y, 4, 2)}));
  EXPECT_EQ(count(g, "Transpose"), 2u);
}

TEST(EliminateTransposes, SlicesSplitsResizesAndTiles) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 8, 3});
  const auto y = conv_nhwc(m, x, 3, 4);
  auto s = m.node("Slice", {y, m.integers({1, 0}), m.integers({5, 3}), m.integers({2, -1})});
  auto t = m.node("Slice", {y, m.integers({0, 1}), m.integers({1, 5})});
  const auto parts = m.node("Split", {y}, {{"axis", std::int64_t{3}}, {"num_outputs", std::int64_t{2}}}, 2);
  auto r =
      m.node("Resize", {y, ir::kNoValue, m.floats({4}, {1, 2, 2, 1})}, {{"mode", std::string("linear")}});
  auto q = m.node("Resize", {y, ir::kNoValue, ir::kNoValue, m.integers({1, 3, 5, 4})},
                  {{"mode", std::string("nearest")}});
  auto u = m.node("Tile", {y, m.integers({1, 2, 1, 3})});
  const auto a = m.node("ArgMax", {y}, {{"axis", std::int64_t{3}}, {"keepdims", std::int64_t{1}}});
  std::vector<Id> outputs;
  for (const Id id : {s, t, parts, static_cast<Id>(parts + 1), r, q, u, a}) outputs.push_back(m.to_nchw(id));
  const ir::Graph g = apply(eliminate_transposes, m.finish(outputs));
  EXPECT_EQ(count(g, "Transpose"), 1u);
}

TEST(EliminateTransposes, ConsecutiveOnesAreOne) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3, 4, 5});
  const ir::Graph g =
      apply(eliminate_transposes, m.finish({m.transpose(m.transpose(x, {1, 0, 2, 3}), {3, 1, 0, 2})}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].integers("perm"), (Integers{3, 0, 1, 2}));
}

TEST(EliminateTransposes, UnitDimensionsAreAReshape) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 1, 1});
  const ir::Graph g =
      apply(eliminate_transposes, m.finish({m.node("Softmax", {m.reshape(m.to_nhwc(x), {1, 8})})}));
  EXPECT_EQ(count(g, "Transpose"), 0u);
}

TEST(EliminateTransposes, KeepsThoseThatMatter) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6});
  const auto y = m.node("MatMul", {m.transpose(x, {0, 2, 1}), x});
  const auto z = m.reshape(m.transpose(m.input("z", {2, 3, 4}), {1, 0, 2}), {24});
  const ir::Graph g = apply(eliminate_transposes, m.finish({y, z}));
  EXPECT_EQ(count(g, "Transpose"), 2u);
}

TEST(EliminateTransposes, DoesNotTurnALargeOperandToSaveOne) {
  GraphMaker m;
  const auto x = m.input("x", {4, 5, 6});
  const auto y = m.input("y", {6, 5, 4});
  const ir::Graph before = m.finish({m.node("Relu", {m.node("Add", {m.transpose(x, {2, 1, 0}), y})})});
  const ir::Graph g = apply(eliminate_transposes, before);
  EXPECT_EQ(count(g, "Transpose"), 1u);
}

TEST(EliminateTransposes, ValuesInBothForms) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 5, 3});
  const auto a = conv_nhwc(m, x, 3, 4);
  const auto flat = m.reshape(a, {1, 80});
  const auto b = conv_nhwc(m, m.node("Relu", {a}), 4, 4);
  const ir::Graph g = apply(eliminate_transposes, m.finish({flat, b, a}));
  EXPECT_LE(count(g, "Transpose"), 3u);
}

}  // namespace
}  // namespace saccade::compiler
