#include "quantise/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks.h"
#include "saccade/error.h"

namespace saccade::quantise {
namespace {

using ::testing::ElementsAre;
using testing::GraphMaker;
using ::testing::IsEmpty;

ir::Graph prepared(const ir::Graph& graph) {
  std::vector<Shape> shapes;
  for (const ir::ValueId id : graph.inputs) shapes.push_back(*graph.value(id).shape);
  return prepare(graph, shapes);
}

std::vector<std::string> bytes_of(const ir::Graph& graph, const Selection& selection, std::string_view op) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (selection.in_bytes[i] && graph.nodes[i].op == op) names.push_back(graph.nodes[i].name);
  return names;
}

TEST(Selection, OfAUNetIsAllButTheHead) {
  const ir::Graph graph = prepared(testing::small_unet());
  const Selection selection = select(graph);
  EXPECT_EQ(layers(graph).size(), testing::count(graph, "Conv") + testing::count(graph, "ConvTranspose") - 1);
  EXPECT_EQ(bytes_of(graph, selection, "MaxPool").size(), 2u);
  EXPECT_EQ(bytes_of(graph, selection, "Concat").size(), 2u);
  EXPECT_EQ(bytes_of(graph, selection, "Resize").size(), 1u);
  EXPECT_EQ(bytes_of(graph, selection, "Relu").size(), testing::count(graph, "Relu"));
}

TEST(Selection, JoinedAndEnlargedTensorsShareAGrid) {
  const ir::Graph graph = prepared(testing::small_unet());
  const Selection selection = select(graph);
  const auto entry = [&](ir::ValueId id) {
    const auto found = std::find(selection.values.begin(), selection.values.end(), id);
    EXPECT_NE(found, selection.values.end());
    return static_cast<std::size_t>(found - selection.values.begin());
  };
  for (const ir::Node& node : graph.nodes) {
    if (node.op == "Concat") {
      for (const ir::ValueId id : node.inputs)
        EXPECT_EQ(selection.grid_of[entry(id)], selection.grid_of[entry(node.outputs[0])]);
    }
    if (node.op == "Resize") {
      EXPECT_EQ(selection.grid_of[entry(node.inputs[0])], selection.grid_of[entry(node.outputs[0])]);
    }
  }
}

TEST(Selection, GatesAndHeadsStay) {
  const ir::Graph graph = prepared(testing::small_mobile());
  const Selection selection = select(graph);
  // Of each block the gate's two convolutions stay, and the head.
  EXPECT_EQ(layers(graph).size(), testing::count(graph, "Conv") - 2 * 2 - 1);
  EXPECT_THAT(bytes_of(graph, selection, "GlobalAveragePool"), IsEmpty());
  EXPECT_THAT(bytes_of(graph, selection, "HardSigmoid"), IsEmpty());
  EXPECT_THAT(bytes_of(graph, selection, "Sigmoid"), IsEmpty());
  EXPECT_EQ(bytes_of(graph, selection, "Mul").size(), 2u);
  EXPECT_EQ(bytes_of(graph, selection, "Add").size(), 2u);
}

TEST(Selection, NamedLayersStay) {
  const ir::Graph graph = prepared(testing::small_unet());
  const std::vector<std::string> all = layers(graph);
  const Selection one = select(graph, {all[2]});
  std::size_t count = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    count += one.convolves[i] ? 1 : 0;
    if (graph.nodes[i].name == all[2]) {
      EXPECT_FALSE(one.in_bytes[i]);
    }
  }
  EXPECT_EQ(count, all.size() - 1);
  EXPECT_THAT(select(graph, all).values, IsEmpty());
}

TEST(Selection, ChainsOfElementwiseOperatorsAreRoundedOnce) {
  testing::ConvMaker m;
  const auto x = m.input("x", {1, 8, 9, 9});
  const auto a = m.fair_conv(x, 8, 8);
  const auto b = m.node("Relu", {m.node("Add", {m.fair_conv(a, 8, 8), a})});
  const ir::Graph graph = prepared(m.finish({m.fair_conv(m.fair_conv(b, 8, 8), 8, 8)}));
  const Selection selection = select(graph);
  std::vector<std::string> made;
  for (const ir::ValueId id : selection.values) {
    const std::int64_t producer = ir::Uses(graph).producer(id);
    made.push_back(producer < 0 ? "input" : graph.nodes[static_cast<std::size_t>(producer)].op);
  }
  EXPECT_THAT(made, ElementsAre("input", "Conv", "Conv", "Relu", "Conv"));
}

TEST(Selection, WhatHasNoKernelsStays) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 9, 9});
  const auto grouped = m.conv(x, 8, 16, 3, 1, 2);
  const auto overlapping = m.node("ConvTranspose", {grouped, m.random({16, 8, 3, 3})},
                                  {{"strides", std::vector<std::int64_t>{2, 2}}});
  const ir::Graph graph = prepared(m.finish({m.conv(overlapping, 8, 8)}));
  EXPECT_THAT(layers(graph), IsEmpty());
}

TEST(Selection, PreparingFoldsNormalisations) {
  GraphMaker m;
  auto x = m.input("x", {1, 4, 9, 9});
  x = m.conv(x, 4, 8);
  x = m.node("BatchNormalization", {x, m.random({8}), m.random({8}), m.random({8}), m.random({8}, 0.5f, 2)});
  const ir::Graph graph = prepared(m.finish({m.conv(m.node("Relu", {x}), 8, 8)}));
  EXPECT_EQ(graph.nodes.size(), 3u);
  EXPECT_FALSE(is_quantised(graph));
}

}  // namespace
}  // namespace saccade::quantise
