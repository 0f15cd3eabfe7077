#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/dump.h"
#include "ir/verify.h"
#include "saccade/error.h"

namespace saccade::ir {
namespace {

Graph relu_chain() {
  Graph g;
  Value x;
  x.name = "x";
  x.shape = Shape{1, 3};
  g.inputs = {g.add_value(x)};
  const ValueId a = g.add_node({"a", "Relu", {g.inputs[0]}, {}, {}});
  const ValueId b = g.add_node({"b", "Relu", {a}, {}, {}});
  g.outputs = {b};
  return g;
}

TEST(Graph, UsesAndProducers) {
  const Graph g = relu_chain();
  const Uses uses(g);
  EXPECT_EQ(uses.producer(g.inputs[0]), -1);
  EXPECT_EQ(uses.producer(g.outputs[0]), 1);
  EXPECT_TRUE(uses.single(g.inputs[0]));
  EXPECT_FALSE(uses.single(g.outputs[0]));
}

TEST(Verify, AcceptsAGoodGraphAndNamesTheCulprit) {
  Graph g = relu_chain();
  EXPECT_NO_THROW(verify(g));
  std::swap(g.nodes[0], g.nodes[1]);
  try {
    verify(g);
    FAIL() << "unsorted nodes accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_model);
    EXPECT_NE(std::string(e.what()).find("'b'"), std::string::npos) << e.what();
  }
}

TEST(Verify, RefusesDoubleDefinitionsAndIdsOutOfRange) {
  Graph g = relu_chain();
  g.nodes[1].outputs[0] = g.nodes[0].outputs[0];
  EXPECT_THROW(verify(g), Error);
  g = relu_chain();
  g.nodes[0].inputs[0] = 77;
  EXPECT_THROW(verify(g), Error);
  g = relu_chain();
  g.outputs[0] = 99;
  EXPECT_THROW(verify(g), Error);
}

TEST(Node, AttributesAreTyped) {
  Node n{"n", "Conv", {}, {}, {}};
  n.attributes["group"] = std::int64_t{2};
  EXPECT_EQ(n.integer("group", 1), 2);
  EXPECT_EQ(n.integer("missing", 7), 7);
  EXPECT_THROW(n.text("group", ""), Error);
}

TEST(Dump, NamesEverything) {
  const std::string text = dump(relu_chain());
  EXPECT_NE(text.find("Relu"), std::string::npos);
  EXPECT_NE(text.find("float32[1x3]"), std::string::npos);
}

}  // namespace
}  // namespace saccade::ir
