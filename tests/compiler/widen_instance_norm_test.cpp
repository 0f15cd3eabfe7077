#include "compiler/passes/widen_instance_norm.h"

#include "compiler/passes/fold_batch_norm.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;

Id slice(GraphMaker& m, Id x, std::int64_t begin, std::int64_t end, std::int64_t axis = 1) {
  return m.node("Slice", {x, m.integers({begin}), m.integers({end}), m.integers({axis}), m.integers({1})});
}
Id batch_norm(GraphMaker& m, Id x, std::int64_t channels) {
  return m.node("BatchNormalization", {x, m.random({channels}), m.random({channels}), m.random({channels}),
                                       m.random({channels}, 0.5f, 2.0f)});
}
Id instance_norm(GraphMaker& m, Id x, std::int64_t channels) {
  return m.node("InstanceNormalization", {x, m.random({channels}), m.random({channels})});
}
Id joined(GraphMaker& m, Id a, Id b) { return m.node("Concat", {a, b}, {{"axis", std::int64_t{1}}}); }

void widen_and_fold(ir::Graph& graph) {
  widen_instance_norm(graph);
  fold_batch_norm(graph);
}

TEST(WidenInstanceNorm, TheBatchNormGoesIntoTheConvolution) {
  GraphMaker m;
  const Id x = m.conv(m.input("x", {2, 3, 6, 7}), 3, 10);
  const Id y = joined(m, batch_norm(m, slice(m, x, 0, 4), 4), instance_norm(m, slice(m, x, 4, 10), 6));
  const ir::Graph g = apply(widen_and_fold, m.finish({y}));
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].op, "Conv");
  EXPECT_EQ(g.nodes[1].op, "InstanceNormalization");
  EXPECT_EQ(g.nodes[1].integer("first_channel", 0), 4);
}

TEST(WidenInstanceNorm, ChannelsThatOnlyPass) {
  GraphMaker m;
  const Id x = m.input("x", {1, 5, 6, 7});
  const Id y = joined(m, slice(m, x, 0, 2), instance_norm(m, slice(m, x, 2, 1 << 30), 3));
  const ir::Graph g = apply(widen_instance_norm, m.finish({y, m.node("Relu", {x})}));
  EXPECT_EQ(count(g, "Slice"), 0u);
  EXPECT_EQ(count(g, "Concat"), 0u);
  EXPECT_EQ(find(g, "InstanceNormalization")->integer("first_channel", 0), 2);
}

TEST(WidenInstanceNorm, GroupsWithScaleAndBiasOfChannels) {
  GraphMaker m;
  const Id x = m.input("x", {2, 12, 6, 7});
  const Id normal = m.reshape(instance_norm(m, m.reshape(x, {2, 3, 168}), 3), {2, 12, 6, 7});
  const Id y = m.node("Add", {m.node("Mul", {m.random({12, 1, 1}), normal}), m.random({12, 1, 1})});
  const ir::Graph g = apply(widen_instance_norm, m.finish({y}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op, "InstanceNormalization");
  EXPECT_EQ(g.nodes[0].integer("groups", 0), 3);
}

TEST(WidenInstanceNorm, NoGroupsOfLinesOrOtherShapes) {
  GraphMaker m;
  const Id x = m.input("x", {2, 12, 6, 7}), line = m.input("line", {2, 12, 42});
  const ir::Graph g = apply(widen_instance_norm,
                            m.finish({
                                m.reshape(instance_norm(m, m.reshape(line, {2, 3, 168}), 3), {2, 12, 42}),
                                m.reshape(instance_norm(m, m.reshape(x, {2, 3, 168}), 3), {2, 12, 7, 6}),
                                m.reshape(instance_norm(m, m.reshape(x, {4, 3, 84}), 3), {2, 12, 6, 7}),
                                m.reshape(instance_norm(m, m.reshape(x, {1, 8, 126}), 8), {2, 12, 6, 7}),
                            }));
  EXPECT_EQ(count(g, "Reshape"), 8u);
}

// Of a part of the channels: in groups it stays a step of its own.
TEST(WidenInstanceNorm, GroupsOfHalfOfTheChannels) {
  GraphMaker m;
  const Id x = m.input("x", {1, 12, 6, 7});
  const Id half = m.reshape(instance_norm(m, m.reshape(slice(m, x, 4, 12), {1, 2, 168}), 2), {1, 8, 6, 7});
  const ir::Graph g = apply(widen_instance_norm, m.finish({joined(m, slice(m, x, 0, 4), half)}));
  EXPECT_EQ(count(g, "Concat"), 1u);
}

TEST(WidenInstanceNorm, NotWhereChannelsLackOrAreReadTwice) {
  GraphMaker m;
  const Id x = m.input("x", {1, 6, 6, 6});
  const Id twice = instance_norm(m, slice(m, x, 2, 6), 4);
  const std::vector<Id> outputs{
      joined(m, slice(m, x, 0, 2), instance_norm(m, slice(m, x, 3, 6), 3)),  // channel 2 is missing
      joined(m, slice(m, x, 0, 2), instance_norm(m, slice(m, x, 2, 5), 3)),  // channel 5
      joined(m, slice(m, x, 1, 2), instance_norm(m, slice(m, x, 2, 6), 4)),  // channel 0
      joined(m, instance_norm(m, slice(m, x, 2, 6), 4), slice(m, x, 0, 2)),  // another order
      joined(m, slice(m, x, 0, 2), twice),                                   // read again
      m.node("Relu", {twice}),
      joined(m, slice(m, x, 0, 3, 2), instance_norm(m, slice(m, x, 3, 6, 2), 6)),  // rows
  };
  const ir::Graph g = apply(widen_instance_norm, m.finish(outputs));
  for (const ir::Node& node : g.nodes) EXPECT_EQ(node.integer("first_channel", 0), 0);
  EXPECT_EQ(count(g, "Concat"), 6u);
}

}  // namespace
}  // namespace saccade::compiler
