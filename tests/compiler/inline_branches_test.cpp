#include "compiler/passes/inline_branches.h"

#include <gtest/gtest.h>

#include "compiler/graph_maker.h"
#include "interpret/interpreter.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;

std::shared_ptr<const ir::Graph> branch(const std::string& op) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3});
  m.graph.outputs = {m.node(op, {x})};
  return std::make_shared<const ir::Graph>(m.graph);
}

TEST(InlineBranches, TakesTheBranchOfAKnownCondition) {
  for (const bool condition : {true, false}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 3});
    // Whether the first dimension of x is 2, or 3.
    const auto dim = m.node("Gather", {m.node("Shape", {x}), m.integers({0})}, {{"axis", std::int64_t{0}}});
    m.graph.value(dim).dtype = DType::i64;
    const auto equal = m.node("Equal", {dim, m.integers({condition ? 2 : 3})});
    m.graph.value(equal).dtype = DType::boolean;
    const auto y =
        m.node("If", {equal, x, x}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Neg")}});
    m.finish({y, m.node("Abs", {y})});
    ir::Graph inlined = m.graph;
    inline_branches(inlined);
    EXPECT_EQ(count(inlined, "If"), 0u);
    EXPECT_EQ(count(inlined, "Relu"), condition ? 1u : 0u);
    EXPECT_EQ(count(inlined, "Neg"), condition ? 0u : 1u);
    const std::vector<Tensor> inputs{Tensor::of<float>({2, 3}, {1, -2, 3, -4, 5, -6})};
    const auto before = interpret::run(m.graph, inputs), after = interpret::run(inlined, inputs);
    for (std::size_t i = 0; i < 2; ++i)
      for (int k = 0; k < 6; ++k) EXPECT_EQ(before[i].data<float>()[k], after[i].data<float>()[k]);
  }
}

TEST(InlineBranches, LeavesConditionsOnDataAlone) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3});
  const auto condition = m.input("c", {}, DType::boolean);
  m.finish(
      {m.node("If", {condition, x, x}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Neg")}})});
  inline_branches(m.graph);
  EXPECT_EQ(count(m.graph, "If"), 1u);
}

}  // namespace
}  // namespace saccade::compiler
