#include "compiler/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/check.h"
#include "fake_target.h"
#include "random_network.h"
#include "saccade/error.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;

Options options_for(const ir::Graph& graph) {
  Options options;
  for (const ir::ValueId id : graph.inputs) options.input_shapes.push_back(*graph.value(id).shape);
  return options;
}

TEST(Pipeline, EveryPassKeepsTheResults) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const ir::Graph graph = testing::random_network(seed, seed % 2 == 0);
    Options options = options_for(graph);
    options.check_passes = true;
    SCOPED_TRACE(seed);
    EXPECT_NO_THROW(optimise(graph, options));
  }
}

TEST(Pipeline, EachOptionalPassCanBeLeftOut) {
  const ir::Graph graph = testing::random_network(3, true);
  for (const std::string& name : pass_names()) {
    Options options = options_for(graph);
    options.disabled_passes = {name};
    if (pass_is_required(name)) {
      EXPECT_THROW(optimise(graph, options), Error) << name;
    } else {
      std::string report;
      const ir::Graph result = optimise(graph, options, &report);
      EXPECT_NO_THROW(check_equivalent(graph, result, name));
      EXPECT_NE(report.find("off"), std::string::npos);
    }
  }
}

TEST(Pipeline, UnknownPassNamesTheOnesThereAre) {
  const ir::Graph graph = testing::random_network(3, true);
  Options options = options_for(graph);
  options.disabled_passes = {"fuse_everything"};
  try {
    optimise(graph, options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("fuse_residual"), std::string::npos) << e.what();
  }
}

TEST(Pipeline, ChannelsLastModelKeepsTransposesAtItsBoundariesOnly) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const ir::Graph graph = testing::random_network(seed, true);
    const ir::Graph result = optimise(graph, options_for(graph));
    SCOPED_TRACE(seed);
    EXPECT_LE(count(result, "Transpose"), graph.inputs.size() + graph.outputs.size());
  }
}

TEST(Pipeline, MobileBlockBecomesOneNodeOrItsConvolutions) {
  GraphMaker m;
  const auto x = m.input("x", {1, 8, 8, 4});
  auto y = m.node("HardSwish", {m.to_nhwc(m.conv(m.to_nchw(x), 4, 16, 1))});
  y = m.node("Relu", {m.to_nhwc(m.conv(m.to_nchw(y), 16, 16, 3, 1, 16))});
  y = m.node("Add", {m.to_nhwc(m.conv(m.to_nchw(y), 16, 4, 1)), x});
  const ir::Graph graph = m.finish({y});
  const ir::Graph whole = optimise(graph, options_for(graph));
  EXPECT_EQ(count(whole, "InvertedResidual"), 1u);
  EXPECT_EQ(count(whole, "Transpose"), 2u);
  EXPECT_EQ(whole.nodes.size(), 3u);
  auto options = options_for(graph);
  options.disabled_passes = {"fuse_inverted_residual"};
  const ir::Graph apart = optimise(graph, options);
  EXPECT_EQ(count(apart, "Conv"), 3u);
  EXPECT_EQ(count(apart, "Transpose"), 2u);
  EXPECT_EQ(apart.nodes.size(), 5u);
}

TEST(Pipeline, CheckFindsAPassThatChangesResults) {
  GraphMaker m;
  const auto x = m.input("x", {4});
  const ir::Graph before = m.finish({m.node("Relu", {x})});
  ir::Graph after = before;
  after.nodes[0].op = "Abs";
  EXPECT_THROW(check_equivalent(before, after, "faulty"), Error);
}

TEST(Pipeline, DataDependentShapesAreRefusedByName) {
  GraphMaker m;
  const auto x = m.input("x", {4});
  const auto target = m.input("target", {2}, DType::i64);
  const ir::Graph graph = m.finish({m.node("Relu", {m.node("Reshape", {x, target})})});
  try {
    compile(graph, testing::empty_target(), options_for(graph));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(e.what()).find("Reshape"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace saccade::compiler
