#include "quantise/correct.h"

#include <gtest/gtest.h>

#include "compiler/graph_maker.h"
#include "interpret/interpreter.h"
#include "quantise/range.h"

namespace saccade::quantise {
namespace {

using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

/// A picture whose channels are constant but for some noise: what means say of it is nearly all there is.
Tensor flat(const Shape& shape, float noise) {
  Tensor t(DType::f32, shape);
  const std::int64_t each = shape[2] * shape[3];
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] =
        static_cast<float>(i / each % 5) * 0.37f - 0.6f + noise * static_cast<float>(i * 31 % 17 - 8);
  return t;
}

Means means_of(const Tensor& t) {
  Means means;
  add_means(t, 1, means);
  return means;
}

void check(const ir::Graph& graph, const Tensor& x) {
  const ir::Node& conv = graph.nodes[0];
  const Grid grid{0.05f, 90};
  Tensor rounded(DType::f32, x.shape());
  put_on_grid(x.values<float>(), {rounded.data<float>(), static_cast<std::size_t>(rounded.count())}, grid);
  const ByteFilters filters = byte_filters(graph, conv, grid.scale);
  const std::vector<float> shift =
      bias_shift(graph, conv, filters.real_weights, means_of(x), means_of(rounded));
  ir::Graph with = graph;
  with.value(conv.inputs[1]).constant = filters.real_weights;
  const Means want = means_of(interpret::run(graph, std::span(&x, 1))[0]);
  const Means without = means_of(interpret::run(with, std::span(&rounded, 1))[0]);
  for (std::size_t f = 0; f < want.size(); ++f)
    EXPECT_NEAR(without[f] + static_cast<double>(shift[f]), want[f], 1e-5) << "filter " << f;
}

TEST(BiasCorrection, MovesMeansBack) {
  struct Case {
    Integers strides, dilations, pads;
    std::int64_t group, kernel;
  };
  for (const Case& c : {Case{{1, 1}, {1, 1}, {1, 1, 1, 1}, 1, 3}, Case{{2, 2}, {1, 1}, {1, 1, 1, 1}, 1, 3},
                        Case{{1, 1}, {6, 6}, {6, 6, 6, 6}, 1, 3}, Case{{1, 1}, {1, 1}, {0, 0, 0, 0}, 1, 1},
                        Case{{1, 2}, {2, 1}, {3, 0, 2, 1}, 5, 3}}) {
    GraphMaker m;
    const Id x = m.input("x", {1, 5, 12, 11});
    const Id y =
        m.node("Conv", {x, m.random({10, 5 / c.group, c.kernel, c.kernel}), m.random({10})},
               {{"strides", c.strides}, {"dilations", c.dilations}, {"pads", c.pads}, {"group", c.group}});
    check(m.finish({y}), flat({1, 5, 12, 11}, 0));
  }
}

TEST(BiasCorrection, OfTransposedConvolutions) {
  GraphMaker m;
  const Id x = m.input("x", {1, 5, 7, 6});
  const Id y = m.node("ConvTranspose", {x, m.random({5, 8, 2, 2}), m.random({8})},
                      {{"strides", Integers{2, 2}}, {"kernel_shape", Integers{2, 2}}});
  check(m.finish({y}), flat({1, 5, 7, 6}, 0.01f));
}

TEST(ByteFilters, KeepEveryFilterWithinHalfAStep) {
  GraphMaker m;
  const Id x = m.input("x", {1, 5, 12, 11});
  const ir::Graph graph = m.finish({m.conv(x, 5, 7)});
  const ByteFilters filters = byte_filters(graph, graph.nodes[0], 0.1f);
  const Tensor& w = *graph.constant_input(graph.nodes[0], 1);
  ASSERT_EQ(filters.scales.size(), 7u);
  for (std::int64_t i = 0; i < w.count(); ++i) {
    const float scale = filters.scales[static_cast<std::size_t>(i / 45)];
    EXPECT_LE(std::abs(w.data<float>()[i] - filters.real_weights.data<float>()[i]), 0.5001f * scale);
    EXPECT_EQ(filters.real_weights.data<float>()[i],
              static_cast<float>(filters.weights.data<std::int8_t>()[i]) * scale);
  }
  const Tensor& b = *graph.constant_input(graph.nodes[0], 2);
  for (std::size_t f = 0; f < 7; ++f)
    EXPECT_NEAR(filters.real_bias[f], b.data<float>()[f], 0.51f * 0.1f * filters.scales[f]);
}

TEST(ByteFilters, ExtremeOnesStayWithin32Bits) {
  GraphMaker m;
  const Id x = m.input("x", {1, 1, 4, 4});
  const Id y = m.node(
      "Conv", {x, m.floats({4, 1, 1, 1}, {0, 0, 1e-12f, 1e20f}), m.floats({4}, {0, 3, 5, 1e-20f})}, {});
  const ir::Graph graph = m.finish({y});
  const ByteFilters filters = byte_filters(graph, graph.nodes[0], 0.01f);
  for (std::size_t f = 0; f < 4; ++f) EXPECT_GT(filters.scales[f], 0);
  EXPECT_EQ(filters.bias.data<std::int32_t>()[0], 0);
  EXPECT_NEAR(filters.real_bias[1], 3, 1e-5);
  EXPECT_NEAR(filters.real_bias[2], 5, 1e-5);
  EXPECT_EQ(filters.weights.data<std::int8_t>()[3], 127);
}

}  // namespace
}  // namespace saccade::quantise
