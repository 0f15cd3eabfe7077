#include "compiler/passes/regroup_transposes.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::find;
using testing::GraphMaker;
using Perm = std::vector<std::int64_t>;

TEST(RegroupTransposes, OfAFlattenedPicture) {
  for (const std::int64_t batch : {1, 2}) {
    GraphMaker m;
    const auto x = m.input("x", {batch, 6, 3, 5});
    const ir::Graph g =
        apply(regroup_transposes, m.finish({m.transpose(m.reshape(x, {batch, 6, 15}), {0, 2, 1})}));
    ASSERT_EQ(g.nodes.size(), 2u);
    EXPECT_EQ(g.nodes[0].op, "Transpose");
    EXPECT_EQ(g.nodes[0].integers("perm"), (Perm{0, 2, 3, 1}));
    EXPECT_EQ(g.nodes[1].op, "Reshape");
  }
}

TEST(RegroupTransposes, OfTokensThatBecomeAPicture) {
  for (const std::int64_t batch : {1, 2}) {
    GraphMaker m;
    const auto x = m.input("x", {batch, 15, 6});
    const ir::Graph g =
        apply(regroup_transposes, m.finish({m.reshape(m.transpose(x, {0, 2, 1}), {batch, 6, 3, 5})}));
    ASSERT_EQ(g.nodes.size(), 2u);
    EXPECT_EQ(g.nodes[0].op, "Reshape");
    EXPECT_EQ(g.nodes[1].op, "Transpose");
    EXPECT_EQ(g.nodes[1].integers("perm"), (Perm{0, 3, 1, 2}));
  }
}

TEST(RegroupTransposes, WithTheBatchOfOneElsewhere) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 3, 5});
  const auto sequence = m.transpose(m.reshape(x, {1, 6, 15}), {2, 0, 1});
  const auto back = m.reshape(m.transpose(m.node("Relu", {sequence}), {1, 2, 0}), {1, 6, 5, 3});
  const ir::Graph g = apply(regroup_transposes, m.finish({back}));
  EXPECT_EQ(find(g, "Transpose")->integers("perm"), (Perm{0, 2, 3, 1}));
  EXPECT_EQ(g.nodes.back().integers("perm"), (Perm{0, 3, 1, 2}));
}

TEST(RegroupTransposes, OthersStay) {
  GraphMaker m;
  const auto x = m.input("x", {2, 6, 3, 5});
  const auto y = m.transpose(m.reshape(x, {2, 18, 5}), {0, 2, 1});  // flattens something else
  const auto z = m.transpose(m.reshape(x, {2, 6, 15}), {1, 0, 2});  // another order
  const auto w = m.reshape(m.transpose(m.input("w", {2, 15, 6}), {0, 2, 1}), {2, 3, 2, 15});
  const ir::Graph before = m.finish({y, z, w}), g = apply(regroup_transposes, before);
  ASSERT_EQ(g.nodes.size(), before.nodes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) EXPECT_EQ(g.nodes[i].op, before.nodes[i].op);
}

}  // namespace
}  // namespace saccade::compiler
