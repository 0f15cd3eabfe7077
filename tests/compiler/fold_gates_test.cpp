#include "compiler/passes/fold_gates.h"

#include "compiler/compile.h"
#include "compiler/passes/fuse_activation.h"
#include "compiler/passes/fuse_residual.h"
#include "fake_target.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::GraphMaker;
using Id = ir::ValueId;

void prepare_and_fold(ir::Graph& graph) {
  fuse_residual(graph);
  fuse_activation(graph);
  fold_gates(graph);
}

Id gate_of(GraphMaker& m, Id x, std::int64_t channels) {
  return m.node("Sigmoid", {m.conv(m.node("GlobalAveragePool", {x}), channels, channels, 1)});
}

TEST(FoldGates, IntoThePointwiseConvolutionBehind) {
  GraphMaker m;
  const Id x = m.input("x", {2, 12, 5, 6});
  const Id first = m.conv(m.node("Mul", {x, gate_of(m, x, 12)}), 12, 12, 1);
  const Id second = m.node("Add", {x, m.conv(m.node("Mul", {gate_of(m, first, 12), first}), 12, 12, 1)});
  const ir::Graph g = apply(prepare_and_fold, m.finish({second}));
  EXPECT_EQ(count(g, "Mul"), 0u);
  EXPECT_EQ(count(g, "Add"), 0u);
  std::size_t gated = 0;
  for (const ir::Node& node : g.nodes) gated += node.op == "Conv" && node.has_input(4) ? 1 : 0;
  EXPECT_EQ(gated, 2u);
}

TEST(FoldGates, NotWhereItCannotOrDoesNotPay) {
  GraphMaker m;
  const Id x = m.input("x", {1, 12, 5, 6});
  const Id gate = gate_of(m, x, 12);
  const Id shared = m.node("Mul", {x, gate});
  const std::vector<Id> outputs{
      shared,                                                         // read twice
      m.conv(shared, 12, 4, 1),                                       //
      m.conv(m.node("Mul", {x, gate}), 12, 4, 3),                     // not 1x1
      m.conv(m.node("Mul", {x, gate}), 12, 4, 1, 1, 2),               // groups
      m.conv(m.node("Mul", {x, gate}), 12, 4, 1, 2),                  // strided
      m.conv(m.node("Mul", {x, x}), 12, 4, 1),                        // not one value a channel
      m.conv(m.node("Mul", {x, m.random({1, 12, 1, 1})}), 12, 4, 1),  // known beforehand
      m.conv(m.node("Mul", {x, gate}), 12, 40, 1),                    // more filters than pixels
  };
  const ir::Graph g = apply(prepare_and_fold, m.finish(outputs));
  for (const ir::Node& node : g.nodes) EXPECT_FALSE(node.has_input(4)) << node.name;
}

TEST(FoldGates, TakenApartWhereNoKernelCanDoIt) {
  GraphMaker m;
  const Id x = m.input("x", {1, 12, 5, 6});
  const ir::Graph g = m.finish({m.conv(m.node("Mul", {x, gate_of(m, x, 12)}), 12, 12, 1)});
  Options options;
  options.input_shapes = {{1, 12, 5, 6}};
  std::size_t products = 0;
  for (const Step& step : compile(g, testing::empty_target(), options).steps) {
    EXPECT_LT(step.src.size(), 5u);
    products += step.op == "Mul" || step.op == "ElementwiseChain" ? 1 : 0;
  }
  EXPECT_EQ(products, 1u);
}

}  // namespace
}  // namespace saccade::compiler
