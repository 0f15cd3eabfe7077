#include "quantise/equalise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/graph_maker.h"
#include "cpu/target.h"
#include "interpret/interpreter.h"
#include "quantise/filters.h"
#include "quantise/observe.h"
#include "saccade/error.h"

namespace saccade::quantise {
namespace {

using testing::GraphMaker;
using Id = ir::ValueId;

Tensor picture(const Shape& shape) {
  Tensor t(DType::f32, shape);
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>(i * 7919 % 1009) / 250 - 2;
  return t;
}

/// Filters of the convolution before get channels of very different ranges.
void unbalance(ir::Graph& graph) {
  for (ir::Node& node : graph.nodes) {
    if (node.op != "Conv") continue;
    Tensor w = graph.constant_input(node, 1)->clone();
    const FilterShape shape = filter_shape(graph, node);
    for (std::int64_t f = 0; f < shape.filters; ++f)
      for (std::int64_t c = 0; c < shape.channels_each(); ++c)
        for (std::int64_t t = 0; t < shape.taps; ++t)
          w.data<float>()[shape.index(f, c, t)] *= std::exp2(static_cast<float>(f % 7) - 3.3f);
    graph.value(node.inputs[1]).constant = w;
  }
}

struct Network {
  ir::Graph graph;
  Tensor x;
};

Network network() {
  GraphMaker m;
  Id x = m.input("x", {1, 6, 20, 23});
  x = m.node("Relu", {m.conv(x, 6, 16)});
  x = m.node("LeakyRelu", {m.conv(x, 16, 16, 3, 1, 16)}, {{"alpha", 0.1f}});  // depthwise
  x = m.conv(x, 16, 12, 1, 1);
  x = m.node("Clip", {m.conv(x, 12, 9), m.scalar(0), m.scalar(6)});  // not beyond a Clip
  const Id skip = x;
  x = m.node("Add", {m.conv(x, 9, 9), skip});  // nor past a sum
  x = m.conv(x, 9, 4);
  Network result{m.finish({x}), picture({1, 6, 20, 23})};
  unbalance(result.graph);
  return result;
}

TEST(Equalise, FindsPairsThatPositiveFactorsPassThrough) {
  const Network n = network();
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Equalisation& e : find_equalisations(n.graph))
    pairs.emplace_back(n.graph.nodes[e.first].name, n.graph.nodes[e.second].name);
  EXPECT_EQ(pairs, (std::vector<std::pair<std::string, std::string>>{
                       {"Conv_0", "Conv_2"}, {"Conv_2", "Conv_4"}, {"Conv_4", "Conv_5"}}));
}

TEST(Equalise, KeepsTheBitsOfSinglePrecision) {
  const Network n = network();
  ir::Graph even = n.graph;
  const std::vector<Equalisation> found = find_equalisations(n.graph);
  ASSERT_FALSE(found.empty());
  equalise(even, found);
  const Tensor want = interpret::run(n.graph, std::span(&n.x, 1))[0],
               got = interpret::run(even, std::span(&n.x, 1))[0];
  EXPECT_EQ(std::memcmp(want.raw(), got.raw(), want.bytes()), 0);
  for (const Isa isa : {Isa::portable, active_isa()}) {
    const Machine machine{&cpu::target(), isa, 2};
    const std::vector<Sample> samples{{n.x}};
    const Tensor planned = run_all(n.graph, samples, machine)[0][0],
                 evened = run_all(even, samples, machine)[0][0];
    EXPECT_EQ(std::memcmp(planned.raw(), evened.raw(), planned.bytes()), 0) << isa_name(isa);
  }
}

TEST(Equalise, BringsRangesTogether) {
  const Network n = network();
  ir::Graph even = n.graph;
  equalise(even, find_equalisations(n.graph));
  const auto spread = [](const ir::Graph& graph) {  // of the filters of the first convolution
    const ir::Node& conv = graph.nodes[0];
    const FilterShape shape = filter_shape(graph, conv);
    float least = 1e9f, most = 0;
    for (std::int64_t f = 0; f < shape.filters; ++f) {
      float range = 0;
      for (std::int64_t i = 0; i < shape.channels_each() * shape.taps; ++i)
        range = std::max(
            range,
            std::abs(
                graph.constant_input(conv, 1)->data<float>()[f * shape.channels_each() * shape.taps + i]));
      least = std::min(least, range), most = std::max(most, range);
    }
    return most / least;
  };
  EXPECT_GT(spread(n.graph), 40);
  EXPECT_LT(spread(even), 0.5f * spread(n.graph));
}

TEST(Equalise, ChannelsOfZerosStay) {
  GraphMaker m;
  Id x = m.input("x", {1, 2, 5, 5});
  x = m.node("Conv", {x, m.floats({3, 2, 1, 1}, {0, 0, 8, 4, 1, 1})}, {});
  x = m.node("Conv", {x, m.floats({2, 3, 1, 1}, {1, 1, 0, 1, 0.5f, 0})}, {});
  const ir::Graph graph = m.finish({x});
  for (const Equalisation& e : find_equalisations(graph)) {
    EXPECT_EQ(e.exponents[0], 0);
    EXPECT_EQ(e.exponents[2], 0);
  }
}

TEST(Equalise, WhatDoesNotFitIsAnError) {
  Network n = network();
  const auto refused = [&](Equalisation e) {
    ir::Graph graph = n.graph;
    EXPECT_THROW(equalise(graph, {e}), Error);
  };
  refused({0, 1000, std::vector<std::int8_t>(16)});
  refused({0, 1, std::vector<std::int8_t>(16)});
  refused({0, 2, std::vector<std::int8_t>(15)});
}

}  // namespace
}  // namespace saccade::quantise
