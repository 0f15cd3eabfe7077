// An error is seen in the layer where it arises.
#include "accuracy/layer_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cpu/target.h"
#include "quantise/calibrate.h"
#include "quantise/networks.h"
#include "quantise/selection.h"

namespace saccade::accuracy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

struct Network {
  ir::Graph graph;
  std::vector<quantise::Sample> samples;
};

Network network(bool unet) {
  const Shape shape = unet ? Shape{1, 3, 24, 32} : Shape{1, 3, 32, 32};
  const ir::Graph graph = unet ? testing::small_unet() : testing::small_mobile();
  return {quantise::prepare(graph, {shape}), testing::smooth_samples(shape, 2)};
}

quantise::Machine machine() { return {&cpu::target(), active_isa(), 2}; }

std::vector<std::size_t> convolutions(const ir::Graph& graph) {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].op == "Conv") list.push_back(i);
  return list;
}

/// The first, one in the middle, and the last.
std::vector<std::size_t> some_convolutions(const ir::Graph& graph) {
  const std::vector<std::size_t> all = convolutions(graph);
  return {all.front(), all[all.size() / 2], all.back()};
}

/// One filter's weights, turned round.
void damage(ir::Graph& graph, std::size_t node) {
  ir::Value& weights = graph.value(graph.nodes[node].inputs[1]);
  weights.constant = weights.constant->clone();
  float* w = weights.constant->data<float>();
  const std::int64_t filter = weights.constant->count() / weights.constant->dim(0);
  for (std::int64_t i = 0; i < filter; ++i) w[i] = -w[i] + 0.5f;
}

const LayerError* worst(const LayerErrors& errors) {
  return &*std::max_element(errors.layers.begin(), errors.layers.end(),
                            [](const LayerError& a, const LayerError& b) { return a.own < b.own; });
}

TEST(LayerErrors, EqualNetworksHaveNone) {
  for (const bool unet : {false, true}) {
    const Network n = network(unet);
    const LayerErrors errors = layer_errors(n.graph, n.graph, n.samples, machine());
    EXPECT_EQ(errors.unmatched, 0);
    EXPECT_GE(errors.layers.size(), convolutions(n.graph).size());
    EXPECT_TRUE(suspects(errors, false).empty());
    for (const LayerError& layer : errors.layers) {
      EXPECT_LT(layer.own, 1e-5) << layer.name;
      EXPECT_EQ(layer.total, 0) << layer.name;
    }
  }
}

TEST(LayerErrors, ADamagedLayerIsFoundByItsName) {
  for (const bool unet : {false, true}) {
    const Network n = network(unet);
    for (const std::size_t node : some_convolutions(n.graph)) {
      ir::Graph damaged = n.graph;
      damage(damaged, node);
      const std::string name = quantise::layer_name(n.graph, n.graph.nodes[node]);
      const LayerErrors errors = layer_errors(n.graph, damaged, n.samples, machine());
      EXPECT_THAT(suspects(errors, false), ElementsAre(name));
      // What comes behind it has inherited errors, but none of its own.
      bool behind = false;
      for (const LayerError& layer : errors.layers) {
        if (layer.name == name) {
          behind = true;
          EXPECT_GT(layer.own, 1e-3);
          EXPECT_GT(layer.total, 1e-3);
        } else {
          EXPECT_LT(layer.own, 1e-5) << layer.name;
          if (!behind) {
            EXPECT_LT(layer.total, 1e-5) << layer.name;
          }
        }
      }
      EXPECT_TRUE(behind);
    }
  }
}

TEST(LayerErrors, ADamagedLayerIsFoundInBf16) {
  const Network n = network(true);
  const LayerErrors whole = layer_errors(n.graph, in_bf16(n.graph), n.samples, machine());
  EXPECT_TRUE(suspects(whole, true).empty());
  double most = 0;
  for (const LayerError& layer : whole.layers) most = std::max(most, layer.own);
  EXPECT_GT(most, 1e-4);  // eight bits of a mantissa
  EXPECT_LT(most, 2e-2);
  for (const std::size_t node : some_convolutions(n.graph)) {
    ir::Graph damaged = n.graph;
    damage(damaged, node);
    const LayerErrors errors = layer_errors(n.graph, in_bf16(damaged), n.samples, machine());
    const std::string name = quantise::layer_name(n.graph, n.graph.nodes[node]);
    EXPECT_EQ(worst(errors)->name, name);
    EXPECT_THAT(suspects(errors, true), Contains(name));
  }
}

TEST(LayerErrors, ADamagedLayerIsFoundInBytes) {
  const Network n = network(true);
  const quantise::Recipe recipe = quantise::calibrate(n.graph, n.samples, machine()).recipe;
  ir::Graph reference = n.graph;
  quantise::equalise(reference, recipe.equalisations);
  const LayerErrors whole = layer_errors(reference, quantise::apply(n.graph, recipe), n.samples, machine());
  EXPECT_EQ(whole.unmatched, 0);
  for (const LayerError& layer : whole.layers) EXPECT_LT(layer.own, 0.1) << layer.name;
  EXPECT_GT(worst(whole)->own, 1e-4);
  for (const std::size_t node : some_convolutions(n.graph)) {
    ir::Graph damaged = n.graph;
    damage(damaged, node);
    const LayerErrors errors =
        layer_errors(reference, quantise::apply(damaged, recipe), n.samples, machine());
    EXPECT_EQ(worst(errors)->name, quantise::layer_name(n.graph, n.graph.nodes[node]));
  }
}

TEST(LayerErrors, NetworksOfAnotherStructureAreMatchedByName) {
  const Network n = network(true);
  ir::Graph other = n.graph;
  // One operator is another: it has no counterpart, all others are found by their names.
  const auto relu = std::find_if(other.nodes.begin(), other.nodes.end(),
                                 [](const ir::Node& node) { return node.op == "Relu"; });
  ASSERT_NE(relu, other.nodes.end());
  relu->op = "Sigmoid";
  const std::size_t last = convolutions(n.graph).back();
  damage(other, last);
  const LayerErrors errors = layer_errors(n.graph, other, n.samples, machine());
  EXPECT_EQ(errors.unmatched, 1);
  // The layer behind it is fed through it, so it differs too.
  EXPECT_THAT(suspects(errors, false), Contains(quantise::layer_name(n.graph, n.graph.nodes[last])));
  EXPECT_LE(suspects(errors, false).size(), 3u);
}

}  // namespace
}  // namespace saccade::accuracy
