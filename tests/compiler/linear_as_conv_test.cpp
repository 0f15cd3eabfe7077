#include "compiler/passes/linear_as_conv.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;

TEST(LinearAsConv, TokensOfAnyRank) {
  for (const Shape& shape : {Shape{1, 12, 6}, Shape{3, 15, 6}, Shape{2, 3, 4, 6}, Shape{1, 2, 3, 2, 6}}) {
    GraphMaker m;
    const Id x = m.input("x", shape);
    const ir::Graph g = apply(linear_as_conv, m.finish({m.node("MatMul", {x, m.random({6, 4})})}));
    EXPECT_EQ(count(g, "MatMul"), 0u) << shape_string(shape);
    EXPECT_EQ(*g.value(find(g, "Conv")->inputs[1]).shape, (Shape{4, 6, 1, 1}));
    EXPECT_EQ(g.value(find(g, "Conv")->inputs[0]).shape->front(), shape.front());  // the batch stays one
  }
}

TEST(LinearAsConv, ElementwiseWorkBetweenMovesToo) {
  GraphMaker m;
  const Id x = m.input("x", {1, 12, 6});
  Id y = m.node("Add", {m.random({8}), m.node("MatMul", {x, m.random({6, 8})})});
  y = m.node("Mul", {m.node("Gelu", {y}), m.scalar(0.5f)});
  y = m.node("Add", {m.node("MatMul", {y, m.random({8, 6})}), m.random({6})});
  y = m.node("Add", {x, m.node("Mul", {m.random({6}), y})});
  const ir::Graph g = apply(linear_as_conv, m.finish({y}));
  EXPECT_EQ(count(g, "Conv"), 2u);
  EXPECT_EQ(count(g, "Transpose"), 2u);  // in front and behind
}

TEST(LinearAsConv, TakesPicturesFromWhereTokensCame) {
  GraphMaker m;
  const Id x = m.input("x", {1, 6, 3, 4});
  const Id tokens = m.reshape(m.to_nhwc(x), {1, 12, 6});
  const Id y = m.node("MatMul", {tokens, m.random({6, 5})});
  const ir::Graph g = apply(linear_as_conv, m.finish({y}));
  EXPECT_EQ(*g.value(find(g, "Conv")->inputs[0]).shape, (Shape{1, 6, 3, 4}));
  EXPECT_EQ(count(g, "Reshape"), 1u);
}

TEST(LinearAsConv, ElementwiseWorkBehindAPictureMovesToo) {
  GraphMaker m;
  const Id x = m.input("x", {1, 6, 3, 4});
  const Id tokens = m.reshape(m.to_nhwc(m.conv(x, 6, 6, 3, 1, 6)), {1, 12, 6});
  const Id y = m.node("MatMul", {m.node("Gelu", {tokens}), m.random({6, 5})});
  const ir::Graph g = apply(linear_as_conv, m.finish({y}));
  EXPECT_EQ(*g.value(find(g, "Gelu")->inputs[0]).shape, (Shape{1, 6, 3, 4}));
  EXPECT_EQ(g.nodes.size(), 5u);
}

TEST(LinearAsConv, WhatVariesAmongTokensIsAddedToTokens) {
  GraphMaker m;
  const Id x = m.input("x", {1, 12, 6});
  const Id y = m.node("Add", {m.node("MatMul", {x, m.random({6, 5})}), m.random({12, 1})});
  const ir::Graph g = apply(linear_as_conv, m.finish({y}));
  EXPECT_EQ(g.nodes.back().op, "Add");
  EXPECT_EQ(*g.value(g.nodes.back().inputs[0]).shape, (Shape{1, 12, 5}));
}

TEST(LinearAsConv, ProductsOfOtherKindsStay) {
  GraphMaker m;
  const Id x = m.input("x", {2, 3, 6}), z = m.input("z", {6, 4}), row = m.input("row", {1, 6});
  const Id variable = m.node("MatMul", {x, z});
  const Id several = m.node("MatMul", {x, m.random({2, 6, 4})});
  const Id vector = m.node("MatMul", {x, m.random({6})});
  const Id single = m.node("MatMul", {row, m.random({6, 4})});
  const Id rows = m.node("MatMul", {m.input("rows", {24, 6}), m.random({6, 4})});  // of how many images?
  const Id second = m.node("MatMul", {m.input("second", {24, 4, 6}), m.random({6, 4})});
  const Id left = m.node("MatMul", {m.random({3, 6}), z});
  const ir::Graph g =
      apply(linear_as_conv, m.finish({variable, several, vector, single, rows, second, left}));
  EXPECT_EQ(count(g, "MatMul"), 7u);
}

}  // namespace
}  // namespace saccade::compiler
