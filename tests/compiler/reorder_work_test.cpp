// Passes that do the same work in a cheaper order.
#include "compiler/passes/means_while_written.h"
#include "compiler/passes/merge_pointwise.h"
#include "compiler/passes/pointwise_before_resize.h"
#include "compiler/passes/pooled_branch_as_bias.h"
#include "compiler/passes/simplify_means.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

Id enlarge(GraphMaker& m, Id x, const std::string& mode = "linear",
           const std::string& coordinates = "half_pixel", const std::vector<float>& scales = {1, 1, 2, 2}) {
  return m.node(
      "Resize", {x, ir::kNoValue, m.floats({4}, scales)},
      {{"mode", mode}, {"coordinate_transformation", coordinates}, {"nearest_mode", std::string("floor")}});
}

// The element count of what the first convolution reads.
std::int64_t convolved(const ir::Graph& graph) {
  return element_count(*graph.value(find(graph, "Conv")->inputs[0]).shape);
}

TEST(PointwiseBeforeResize, AllInterpolations) {
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"}) {
      GraphMaker m;
      const auto x = m.input("x", {1, 6, 4, 5});
      const ir::Graph g =
          apply(pointwise_before_resize, m.finish({m.conv(enlarge(m, x, mode, coordinates), 6, 3, 1)}));
      EXPECT_EQ(convolved(g), 6 * 4 * 5) << mode << " " << coordinates;
      EXPECT_EQ(g.nodes.back().op, "Resize");
    }
}

TEST(PointwiseBeforeResize, SizesNameTheNewChannels) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 4, 5});
  const auto up = m.node("Resize", {x, ir::kNoValue, ir::kNoValue, m.integers({1, 6, 9, 7})},
                         {{"mode", std::string("linear")}});
  const auto axes = m.node("Resize", {x, ir::kNoValue, ir::kNoValue, m.integers({9, 7})},
                           {{"mode", std::string("linear")}, {"axes", Integers{2, 3}}});
  const ir::Graph g = apply(pointwise_before_resize, m.finish({m.conv(up, 6, 3, 1), m.conv(axes, 6, 2, 1)}));
  EXPECT_EQ(*g.value(g.outputs[0]).shape, (Shape{1, 3, 9, 7}));
  EXPECT_EQ(*g.value(g.outputs[1]).shape, (Shape{1, 2, 9, 7}));
  EXPECT_EQ(convolved(g), 6 * 4 * 5);
}

TEST(PointwiseBeforeResize, NotWhereItMustNot) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 8});
  const auto shared = enlarge(m, x);
  const auto active = m.conv(enlarge(m, x), 4, 2, 1);
  m.graph.nodes.back().attributes["activation"] = std::string("relu");
  const std::vector<Id> outputs{
      m.conv(shared, 4, 2, 1),
      m.node("Relu", {shared}),
      active,
      m.conv(enlarge(m, x), 4, 2, 3),  // not pointwise
      m.conv(enlarge(m, x), 4, 8, 1),  // more channels to enlarge afterwards
      m.conv(enlarge(m, x, "linear", "half_pixel", {1, 1, 0.5f, 0.5f}), 4, 2, 1),  // shrinks
      m.conv(enlarge(m, x), 4, 2, 1, 2),                                           // every second pixel
  };
  const ir::Graph before = m.finish(outputs);
  const ir::Graph g = apply(pointwise_before_resize, before);
  ASSERT_EQ(g.nodes.size(), before.nodes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) EXPECT_EQ(g.nodes[i].op, before.nodes[i].op);
}

Id repeat_pixel(GraphMaker& m, Id pixel, const std::string& mode = "linear") {
  return enlarge(m, pixel, mode, "half_pixel", {1, 1, 6, 8});
}
Id concat(GraphMaker& m, const std::vector<Id>& parts) {
  return m.node("Concat", parts, {{"axis", std::int64_t{1}}});
}

TEST(PooledBranchAsBias, BranchesOfOnePixelAnywhereAmongTheParts) {
  for (const char* mode : {"linear", "nearest"}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 4, 6, 8}), y = m.input("y", {2, 3, 6, 8});
    const auto p = m.input("p", {2, 5, 1, 1}), q = m.input("q", {2, 2, 1, 1});
    const std::vector<Id> outputs{
        m.conv(concat(m, {x, y, repeat_pixel(m, p, mode)}), 12, 7, 1),
        m.conv(concat(m, {repeat_pixel(m, p, mode), x}), 9, 3, 1),
        m.conv(concat(m, {x, repeat_pixel(m, q, mode), y, repeat_pixel(m, p, mode)}), 14, 5, 1),
    };
    const ir::Graph g = apply(pooled_branch_as_bias, m.finish(outputs));
    EXPECT_EQ(count(g, "Resize"), 0u) << mode;
    EXPECT_EQ(count(g, "Conv"), 6u);
    EXPECT_EQ(count(g, "Concat"), 3u);  // x and y twice, q and p
    for (const Id output : g.outputs) EXPECT_EQ((*g.value(output).shape)[2], 6);
  }
}

TEST(PooledBranchAsBias, NotWhereItMustNot) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 6, 8}), p = m.input("p", {1, 4, 1, 1}),
             row = m.input("row", {1, 4, 1, 8});
  const auto shared = concat(m, {x, repeat_pixel(m, p)});
  const auto active = m.conv(concat(m, {x, repeat_pixel(m, p)}), 8, 2, 1);
  m.graph.nodes.back().attributes["activation"] = std::string("relu");
  const std::vector<Id> outputs{
      m.conv(shared, 8, 2, 1),
      m.node("Relu", {shared}),
      active,
      m.conv(concat(m, {x, repeat_pixel(m, p)}), 8, 2, 3),                   // 3x3 has edges
      m.conv(concat(m, {x, repeat_pixel(m, p)}), 8, 2, 1, 1, 2),             // grouped
      m.conv(concat(m, {repeat_pixel(m, p), repeat_pixel(m, p)}), 8, 2, 1),  // nothing else
      m.conv(concat(m, {x, enlarge(m, row, "linear", "half_pixel", {1, 1, 6, 1})}), 8, 2, 1),  // a row
      m.conv(m.node("Concat", {x, repeat_pixel(m, p)}, {{"axis", std::int64_t{2}}}), 4, 2,
             1),  // not channels
  };
  const ir::Graph before = m.finish(outputs);
  const ir::Graph g = apply(pooled_branch_as_bias, before);
  ASSERT_EQ(g.nodes.size(), before.nodes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) EXPECT_EQ(g.nodes[i].op, before.nodes[i].op);
}

Id mean(GraphMaker& m, Id x) {
  return m.node("ReduceMean", {x, m.integers({2, 3})}, {{"keepdims", std::int64_t{1}}});
}

TEST(PointwiseBeforeResize, OneSummandOfASum) {
  for (const bool swapped : {false, true}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 6, 4, 5});
    const auto y = m.input("y", {2, 6, 8, 10});
    const auto up = enlarge(m, x);
    const auto sum = m.node("Add", swapped ? std::vector<Id>{y, up} : std::vector<Id>{up, y});
    const ir::Graph g = apply(pointwise_before_resize, m.finish({m.conv(sum, 6, 4, 1)}));
    EXPECT_EQ(g.nodes.back().op, "Add");
    EXPECT_EQ(count(g, "Conv"), 2u);
    EXPECT_EQ(*g.value(find(g, "Resize")->inputs[0]).shape, (Shape{2, 4, 4, 5}));
  }
}

TEST(PointwiseBeforeResize, SumsThatStay) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 4, 5});
  const auto y = m.input("y", {1, 6, 8, 10});
  const auto shared = enlarge(m, x);
  const auto read_twice = m.node("Add", {enlarge(m, x), y});
  const auto wide = m.input("w", {1, 96, 4, 5});
  const std::vector<Id> outputs{
      m.conv(m.node("Add", {shared, y}), 6, 4, 1),
      m.node("Relu", {shared}),
      m.conv(read_twice, 6, 4, 1),
      m.node("Relu", {read_twice}),
      m.conv(m.node("Add", {enlarge(m, x), y}), 6, 4, 3),   // mixes pixels
      m.conv(m.node("Add", {enlarge(m, x), y}), 6, 12, 1),  // more channels to enlarge
      m.conv(m.node("Add", {enlarge(m, x), m.random({1, 6, 1, 1})}), 6, 4, 1),
      m.conv(m.node("Mul", {enlarge(m, x), y}), 6, 4, 1),
      m.conv(m.node("Add", {enlarge(m, wide), m.input("v", {1, 96, 8, 10})}), 96, 4, 1),
  };
  const ir::Graph before = m.finish(outputs);
  const ir::Graph g = apply(pointwise_before_resize, before);
  EXPECT_EQ(count(g, "Conv"), count(before, "Conv"));
}

TEST(PointwiseBeforeResize, WidePartsOfAConcatenation) {
  for (const bool others : {true, false}) {
    GraphMaker m;
    const auto x = m.input("x", {1, 3, 8, 10}), y = m.input("y", {1, 128, 4, 5}),
               z = m.input("z", {1, 130, 4, 5});
    std::vector<Id> parts{enlarge(m, y), enlarge(m, z)};
    if (others) parts = {x, parts[0], m.node("Relu", {x}), parts[1], enlarge(m, m.input("w", {1, 4, 4, 5}))};
    const auto all = m.node("Concat", parts, {{"axis", std::int64_t{1}}});
    const auto y_out = m.conv(all, others ? 268 : 258, 5, 1);
    const ir::Graph g = apply(pointwise_before_resize, m.finish({m.node("Relu", {y_out})}));
    EXPECT_EQ(count(g, "Conv"), others ? 3u : 2u);
    EXPECT_EQ(count(g, "Add"), others ? 2u : 1u);
    EXPECT_EQ(count(g, "Concat"), others ? 1u : 0u);
  }
}

TEST(PointwiseBeforeResize, PartsOfAConcatenationThatStay) {
  for (const int kind : {0, 1, 2, 3}) {
    GraphMaker m;
    const auto x = m.input("x", {1, 4, 8, 10});
    const auto y = m.input("y", kind == 0   ? Shape{1, 96, 4, 5}
                                : kind == 1 ? Shape{1, 128, 1, 1}
                                            : Shape{1, 128, 4, 5});
    const auto up = enlarge(m, y, "linear", "half_pixel",
                            kind == 1 ? std::vector<float>{1, 1, 8, 10} : std::vector<float>{1, 1, 2, 2});
    const auto all = m.node("Concat", {x, up}, {{"axis", std::int64_t{1}}});
    const auto result = m.conv(all, kind == 0 ? 100 : 132, 5, kind == 2 ? 3 : 1);
    std::vector<Id> outputs{result};
    if (kind == 3) outputs.push_back(all);
    EXPECT_EQ(count(apply(pointwise_before_resize, m.finish(outputs)), "Concat"), 1u) << kind;
    EXPECT_EQ(count(apply(pointwise_before_resize, m.finish(outputs)), "Conv"), 1u) << kind;
  }
}

TEST(MergePointwise, MultipliesTheFilters) {
  for (const bool bias : {false, true}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 5, 4, 3});
    const auto first = m.conv(x, 5, 6, 1);
    if (!bias) m.graph.nodes.back().inputs.resize(2);
    const auto second = m.conv(first, 6, 4, 1);
    m.graph.nodes.back().attributes["activation"] = std::string("relu");
    const ir::Graph g = apply(merge_pointwise, m.finish({second}));
    ASSERT_EQ(g.nodes.size(), 1u);
    EXPECT_EQ(g.nodes[0].text("activation", "none"), "relu");
  }
}

TEST(MergePointwise, NotWhereItMustNot) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 4, 4});
  const auto active = m.conv(x, 8, 8, 1);
  m.graph.nodes.back().attributes["activation"] = std::string("relu");
  const auto shared = m.conv(x, 8, 8, 1);
  const auto given = m.input("filters", {8, 8, 1, 1});
  const std::vector<Id> outputs{
      m.conv(active, 8, 4, 1),
      m.conv(shared, 8, 4, 1),
      m.node("Neg", {shared}),
      m.conv(m.conv(x, 8, 2, 1), 2, 8, 1),        // a bottleneck is cheaper as it is
      m.conv(m.conv(x, 8, 8, 3), 8, 4, 1),        // looks at more pixels
      m.conv(m.conv(x, 8, 8, 1), 8, 4, 3),        // pads
      m.conv(m.conv(x, 8, 8, 1, 2), 8, 4, 1),     // leaves pixels out
      m.conv(m.conv(x, 8, 8, 1, 1, 2), 8, 4, 1),  // groups
      m.node("Conv", {m.conv(x, 8, 8, 1), given}),
  };
  const ir::Graph before = m.finish(outputs);
  EXPECT_EQ(count(apply(merge_pointwise, before), "Conv"), count(before, "Conv"));
}

TEST(SimplifyMeans, OfAPointwiseConvolution) {
  GraphMaker m;
  const auto x = m.input("x", {2, 6, 4, 5});
  const auto y = m.conv(x, 6, 4, 1);
  const ir::Graph g = apply(simplify_means, m.finish({mean(m, y), m.node("Relu", {y})}));
  EXPECT_EQ(count(g, "Conv"), 2u);
  EXPECT_EQ(find(g, "ReduceMean")->inputs[0], g.inputs[0]);
}

TEST(SimplifyMeans, OfGatedPlanes) {
  for (const bool swapped : {false, true}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 6, 4, 5});
    const auto gate = m.node("Sigmoid", {m.input("g", {2, 6, 1, 1})});
    const auto y = m.node("Mul", swapped ? std::vector<Id>{gate, x} : std::vector<Id>{x, gate});
    const ir::Graph g = apply(simplify_means, m.finish({mean(m, y), m.node("Relu", {y})}));
    EXPECT_EQ(find(g, "ReduceMean")->inputs[0], g.inputs[0]);
  }
}

TEST(SimplifyMeans, OfSumsAndEnlargements) {
  for (const char* mode : {"linear", "nearest"}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 3, 4, 5});
    const auto y = m.input("y", {2, 3, 12, 10});
    const auto up =
        enlarge(m, x, mode, std::string(mode) == "linear" ? "half_pixel" : "asymmetric", {1, 1, 3, 2});
    const ir::Graph g = apply(simplify_means, m.finish({mean(m, m.node("Add", {up, y}))}));
    EXPECT_EQ(count(g, "Resize"), 0u) << mode;
    EXPECT_EQ(count(g, "ReduceMean"), 2u);
  }
}

TEST(SimplifyMeans, AnEnlargementThatIsReadElsewhereStaysForThem) {
  GraphMaker m;
  const auto up = enlarge(m, m.input("x", {1, 3, 4, 5}));
  const ir::Graph g = apply(simplify_means, m.finish({mean(m, up), m.node("Relu", {up})}));
  EXPECT_EQ(count(g, "Resize"), 1u);
  EXPECT_EQ(element_count(*g.value(find(g, "ReduceMean")->inputs[0]).shape), 60);
}

TEST(SimplifyMeans, NotWhereItMustNot) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 4, 6});
  const auto shared = m.node("Add", {x, x});
  const std::vector<Id> outputs{
      mean(m, shared),
      m.node("Relu", {shared}),
      mean(m, m.conv(x, 3, 3, 3)),
      mean(m, m.conv(m.input("wide", {1, 9, 4, 6}), 9, 3, 1)),  // more to read
      mean(m, m.node("Add", {x, m.input("y", {1, 3, 1, 1})})),  // broadcast
      m.node("ReduceMean", {m.node("Add", {x, m.input("z", {1, 3, 4, 6})}), m.integers({3})}),  // rows only
      mean(m, enlarge(m, x, "linear", "align_corners")),
      mean(m, enlarge(m, x, "linear", "asymmetric")),
      mean(m, enlarge(m, x, "linear", "half_pixel", {1, 1, 1.5f, 1.5f})),
      mean(m, enlarge(m, x, "nearest", "half_pixel")),  // floor: shifted
      m.node("ReduceMax", {enlarge(m, x), m.integers({2, 3})}),
  };
  const ir::Graph before = m.finish(outputs);
  const ir::Graph g = apply(simplify_means, before);
  EXPECT_EQ(count(g, "Resize"), count(before, "Resize"));
  EXPECT_EQ(count(g, "Add"), count(before, "Add"));
  EXPECT_EQ(count(g, "ReduceMean"), count(before, "ReduceMean"));
}

TEST(MeansWhileWritten, MarksMeansOfPlanesThatANodeMakes) {
  GraphMaker m;
  const Id x = m.input("x", {1, 6, 8, 8}), y = m.node("Relu", {x});
  const auto over = [&](Id of, const Integers& axes) { return m.node("ReduceMean", {of, m.integers(axes)}); };
  const std::vector<Id> marked = {mean(m, y), m.node("GlobalAveragePool", {y})};
  const std::vector<Id> left = {mean(m, x), over(y, {3}), over(y, {1, 2, 3})};
  std::vector<Id> all = marked;
  all.insert(all.end(), left.begin(), left.end());
  const ir::Graph g = apply(means_while_written, m.finish(all));
  const ir::Uses uses(g);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ir::Node& node = g.nodes[static_cast<std::size_t>(uses.producer(g.outputs[i]))];
    EXPECT_EQ(node.has("follow"), i < marked.size()) << i;
  }
}

}  // namespace
}  // namespace saccade::compiler
