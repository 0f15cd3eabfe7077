#include "compiler/passes/recognise_norms.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;

struct Written {
  std::int64_t axis = 2;
  bool one_difference = true;
  std::int64_t other_axis = -1;  ///< of the variance, where it is another one
  Shape affine = {};             ///< of scale and bias; empty: none
};

Id mean(GraphMaker& m, Id x, std::int64_t axis) {
  return m.node("ReduceMean", {x, m.integers({axis})}, {{"keepdims", std::int64_t{1}}});
}

ir::Graph written_out(const Shape& shape, const Written& w) {
  GraphMaker m;
  const Id x = m.input("x", shape), average = mean(m, x, w.axis);
  const Id a = m.node("Sub", {x, average}), b = w.one_difference ? a : m.node("Sub", {x, average});
  const Id variance = mean(m, m.node("Mul", {a, a}), w.other_axis >= 0 ? w.other_axis : w.axis);
  Id y = m.node("Div", {b, m.node("Sqrt", {m.node("Add", {variance, m.scalar(1e-3f)})})});
  if (!w.affine.empty()) y = m.node("Add", {m.node("Mul", {y, m.random(w.affine)}), m.random(w.affine)});
  return m.finish({y});
}

TEST(RecogniseNorms, OverTheLastAxis) {
  for (const bool one : {true, false})
    for (const Shape& affine : {Shape{}, Shape{6}, Shape{1, 1, 6}}) {
      const ir::Graph g = apply(recognise_norms, written_out({2, 5, 6}, {2, one, -1, affine}));
      ASSERT_EQ(g.nodes.size(), 1u);
      EXPECT_EQ(g.nodes[0].op, "LayerNormalization");
      EXPECT_FLOAT_EQ(g.nodes[0].real("epsilon", 0), 1e-3f);
    }
}

TEST(RecogniseNorms, OverTheChannelsOfAPicture) {
  const ir::Graph g = apply(recognise_norms, written_out({2, 6, 3, 5}, {1, false, -1, {1, 6, 1, 1}}));
  EXPECT_EQ(count(g, "LayerNormalization"), 1u);
  EXPECT_EQ(g.nodes.size(), 3u);  // and two transposes
}

TEST(RecogniseNorms, WhatIsJoinedAndVariesOtherwiseStays) {
  const ir::Graph g = apply(recognise_norms, written_out({2, 5, 6}, {2, true, -1, {5, 1}}));
  EXPECT_EQ(count(g, "LayerNormalization"), 1u);
  EXPECT_EQ(count(g, "Mul"), 1u);
}

TEST(RecogniseNorms, NotOverAnInnerAxisOrTwoAxes) {
  EXPECT_EQ(count(apply(recognise_norms, written_out({2, 5, 6}, {1})), "LayerNormalization"), 0u);
  EXPECT_EQ(count(apply(recognise_norms, written_out({6, 6, 6}, {2, true, 1})), "LayerNormalization"), 0u);
}

TEST(RecogniseNorms, NotWithTheMeanOfAnotherValue) {
  GraphMaker m;
  const Id x = m.input("x", {2, 6}), z = m.input("z", {2, 6});
  const Id d = m.node("Sub", {x, mean(m, z, 1)});
  const Id deviation = m.node("Sqrt", {m.node("Add", {mean(m, m.node("Mul", {d, d}), 1), m.scalar(1)})});
  EXPECT_EQ(count(apply(recognise_norms, m.finish({m.node("Div", {d, deviation})})), "LayerNormalization"),
            0u);
}

}  // namespace
}  // namespace saccade::compiler
