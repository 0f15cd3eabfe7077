#include "compiler/passes/sum_of_stack.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;
using Id = ir::ValueId;

Id stacked(GraphMaker& m, const std::vector<Id>& maps, std::int64_t axis) {
  return m.node("Concat", maps, {{"axis", axis}});
}
Id reduced(GraphMaker& m, const std::string& op, Id x, std::vector<std::int64_t> axes,
           std::int64_t keepdims = 0) {
  return m.node(op, {x, m.integers(axes)}, {{"keepdims", keepdims}});
}

TEST(SumOfStack, SumsAndMeansAreAdditions) {
  GraphMaker m;
  const Id a = m.input("a", {2, 3, 4, 5}), b = m.input("b", {2, 3, 4, 5}), c = m.input("c", {2, 3, 4, 5});
  const std::vector<std::int64_t> front{1, 2, 3, 4, 5}, behind{2, 3, 4, 5, 1};
  const auto stack = [&](const std::vector<std::int64_t>& shape, std::int64_t axis) {
    return stacked(m, {m.reshape(a, shape), m.reshape(b, shape), m.reshape(c, shape)}, axis);
  };
  const Id one = m.input("one", {1, 7}), other = m.input("other", {1, 7});
  const ir::Graph g = apply(sum_of_stack, m.finish({
                                              reduced(m, "ReduceSum", stack(front, 0), {0}),
                                              reduced(m, "ReduceMean", stack(front, -5), {0}, 1),
                                              reduced(m, "ReduceSum", stack(behind, 4), {-1}),
                                              reduced(m, "ReduceMean", stacked(m, {one, other}, 0), {0}),
                                          }));
  EXPECT_EQ(count(g, "Concat"), 0u);
  EXPECT_EQ(count(g, "ReduceSum") + count(g, "ReduceMean"), 0u);
  EXPECT_EQ(count(g, "Add"), 7u);
}

TEST(SumOfStack, NotOfLargerPartsOtherAxesOrWhatIsReadTwice) {
  GraphMaker m;
  const Id a = m.input("a", {1, 4, 5}), b = m.input("b", {1, 4, 5}), wide = m.input("wide", {2, 4, 5});
  const Id twice = stacked(m, {a, b}, 0);
  const ir::Graph g = apply(sum_of_stack, m.finish({
                                              reduced(m, "ReduceSum", stacked(m, {a, wide}, 0), {0}),
                                              reduced(m, "ReduceSum", stacked(m, {a, b}, 0), {1}),
                                              reduced(m, "ReduceSum", stacked(m, {a, b}, 0), {0, 1}),
                                              reduced(m, "ReduceMax", stacked(m, {a, b}, 0), {0}),
                                              reduced(m, "ReduceSum", stacked(m, {a, b}, 1), {1}),
                                              reduced(m, "ReduceSum", twice, {0}),
                                              m.node("Relu", {twice}),
                                          }));
  EXPECT_EQ(count(g, "Add"), 0u);
}

}  // namespace
}  // namespace saccade::compiler
