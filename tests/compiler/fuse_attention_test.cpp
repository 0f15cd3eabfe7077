#include "compiler/passes/fuse_attention.h"

#include "compiler/passes/canonicalise.h"
#include "compiler/passes/eliminate_transposes.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;

constexpr std::int64_t kHeads = 3, kSize = 4, kWidth = kHeads * kSize;

Id heads_of(GraphMaker& m, Id tokens, std::int64_t length) {
  return m.transpose(m.reshape(tokens, {2, length, kHeads, kSize}), {0, 2, 1, 3});
}
Id softmax(GraphMaker& m, Id scores) { return m.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}}); }
Id joined(GraphMaker& m, Id y, std::int64_t length) {
  return m.reshape(m.transpose(y, {0, 2, 1, 3}), {2, length, kWidth});
}

// All that brings heads apart and together again goes.
void expect_packed(const ir::Graph& graph, std::size_t slices) {
  const ir::Graph g =
      apply(canonicalise, apply(eliminate_transposes, apply(canonicalise, apply(fuse_attention, graph))));
  ASSERT_EQ(count(g, "Attention"), 1u);
  EXPECT_EQ(find(g, "Attention")->integer("q_num_heads", 0), kHeads);
  EXPECT_EQ(count(g, "Slice"), slices);
  EXPECT_EQ(g.nodes.size(), 1 + slices);
}

TEST(FuseAttention, OfTokens) {
  for (const bool scaled_first : {false, true}) {
    GraphMaker m;
    const Id q = heads_of(m, m.input("q", {2, 7, kWidth}), 7),
             v = heads_of(m, m.input("v", {2, 5, kWidth}), 5);
    const Id k = m.transpose(m.reshape(m.input("k", {2, 5, kWidth}), {2, 5, kHeads, kSize}), {0, 2, 3, 1});
    const Id scores =
        scaled_first
            ? m.node("MatMul", {m.node("Mul", {q, m.scalar(0.6f)}), m.node("Mul", {k, m.scalar(0.6f)})})
            : m.node("Mul", {m.node("MatMul", {q, k}), m.scalar(0.36f)});
    const ir::Graph g = m.finish({joined(m, m.node("MatMul", {softmax(m, scores), v}), 7)});
    expect_packed(g, 0);
    EXPECT_FLOAT_EQ(find(apply(fuse_attention, g), "Attention")->real("scale", 0), 0.36f);
  }
}

TEST(FuseAttention, OfTokensThatLieSideBySide) {
  for (const bool split : {false, true}) {
    GraphMaker m;
    const Id all =
        m.transpose(m.reshape(m.input("x", {2, 7, 3 * kWidth}), {2, 7, 3, kHeads, kSize}), {2, 0, 3, 1, 4});
    std::vector<Id> parts;
    if (split) {
      const Id first = m.node("Split", {all}, {{"axis", std::int64_t{0}}}, 3);
      for (Id i = 0; i < 3; ++i) parts.push_back(m.reshape(first + i, {2, kHeads, 7, kSize}));
    } else {
      for (std::int64_t i = 0; i < 3; ++i)
        parts.push_back(m.node("Gather", {all, m.graph.add_constant("i", Tensor::of<std::int64_t>({}, {i}))},
                               {{"axis", std::int64_t{0}}}));
    }
    const Id scores = m.node("MatMul", {parts[0], m.transpose(parts[1], {0, 1, 3, 2})});
    expect_packed(m.finish({joined(m, m.node("MatMul", {softmax(m, scores), parts[2]}), 7)}), 3);
  }
}

TEST(FuseAttention, OfHeadsInTheBatch) {
  for (const Shape& mask : std::vector<Shape>{{}, {6, 7, 5}, {1, 7, 5}, {7, 5}}) {
    GraphMaker m;
    const Id q = m.input("q", {6, 7, kSize}), k = m.input("k", {6, 5, kSize}), v = m.input("v", {6, 5, 3});
    Id scores = m.node("MatMul", {m.node("Mul", {q, m.scalar(0.7f)}), m.transpose(k, {0, 2, 1})});
    if (!mask.empty()) scores = m.node("Add", {scores, m.input("mask", mask)});
    const ir::Graph g =
        apply(canonicalise, apply(fuse_attention, m.finish({m.node("MatMul", {softmax(m, scores), v})})));
    ASSERT_EQ(count(g, "Attention"), 1u);
    EXPECT_EQ(find(g, "Attention")->integer("q_num_heads", 0), 1);
    EXPECT_EQ(count(g, "Softmax") + count(g, "MatMul"), 0u);
  }
}

TEST(FuseAttention, OfHeadsAsTheyAre) {
  for (const Shape& mask : {Shape{}, Shape{5}, Shape{3, 7, 5}, Shape{2, 1, 7, 5}}) {
    GraphMaker m;
    const Id q = m.input("q", {2, 3, 7, 4}), k = m.input("k", {2, 3, 4, 5}), v = m.input("v", {2, 3, 5, 6});
    Id scores = m.node("MatMul", {q, k});
    if (!mask.empty()) scores = m.node("Add", {m.input("mask", mask), scores});
    const ir::Graph g = apply(fuse_attention, m.finish({m.node("MatMul", {softmax(m, scores), v})}));
    EXPECT_EQ(count(g, "Attention"), 1u);
    EXPECT_EQ(count(g, "MatMul"), 0u);
  }
}

TEST(FuseAttention, NotWhereScoresAreReadOrOtherwiseMade) {
  for (const int kind : {0, 1, 2, 3}) {
    GraphMaker m;
    const Id q = m.input("q", {2, 3, 7, 4}), k = m.input("k", {2, 3, 4, 5}), v = m.input("v", {2, 3, 5, 6});
    Id scores = m.node("MatMul", {q, k});
    if (kind == 1) scores = m.node("Add", {scores, m.input("m", {7, 1})});  // no mask of keys
    if (kind == 2) scores = m.node("Mul", {scores, m.input("f", {7, 5})});
    const Id shares = m.node("Softmax", {scores}, {{"axis", std::int64_t{kind == 3 ? 2 : -1}}});
    std::vector<Id> outputs{m.node("MatMul", {shares, v})};
    if (kind == 0) outputs.push_back(shares);
    EXPECT_EQ(count(apply(fuse_attention, m.finish(outputs)), "Attention"), 0u) << kind;
  }
}

}  // namespace
}  // namespace saccade::compiler
