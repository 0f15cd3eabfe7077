#include "compiler/passes/fuse_inverted_residual.h"

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

// As the pipeline runs it.
void prepare_and_fuse(ir::Graph& graph) {
  fuse_residual(graph);
  fuse_activation(graph);
  fuse_inverted_residual(graph);
}

TEST(FuseInvertedResidual, EveryForm) {
  GraphMaker m;
  const Id x = m.input("x", {2, 6, 9, 7});
  const auto expand = [&](Id from) { return m.node("Relu", {m.conv(from, 6, 20, 1)}); };
  const auto apart = [&](Id from, std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
    return m.node("Clip",
                  {m.conv(from, channels, channels, kernel, stride, channels), m.scalar(0), m.scalar(6)});
  };
  const Id whole = m.node("Add", {x, m.conv(apart(expand(x), 20, 3, 1), 20, 6, 1)});
  const Id strided = m.node("HardSwish", {m.conv(apart(expand(whole), 20, 5, 2), 20, 8, 1)});
  const Id no_projection = m.node("GlobalAveragePool", {apart(expand(whole), 20, 3, 1)});
  const Id no_expansion = m.conv(apart(x, 6, 3, 2), 6, 4, 1);
  const ir::Graph g = apply(prepare_and_fuse, m.finish({strided, no_projection, no_expansion}));
  EXPECT_EQ(count(g, "InvertedResidual"), 4u);
  EXPECT_EQ(count(g, "Conv") + count(g, "Relu") + count(g, "Clip") + count(g, "Add") + count(g, "HardSwish"),
            0u);
}

TEST(FuseInvertedResidual, DilatedAndWithoutBias) {
  GraphMaker m;
  const Id x = m.input("x", {1, 4, 12, 12});
  const Id wide = m.node("Conv", {x, m.random({10, 4, 1, 1})});
  const Id apart = m.node("Conv", {wide, m.random({10, 1, 3, 3})},
                          {{"group", std::int64_t{10}},
                           {"dilations", std::vector<std::int64_t>{2, 2}},
                           {"pads", std::vector<std::int64_t>{2, 2, 2, 2}}});
  const ir::Graph g = apply(prepare_and_fuse, m.finish({m.node("Conv", {apart, m.random({5, 10, 1, 1})})}));
  ASSERT_EQ(count(g, "InvertedResidual"), 1u);
  EXPECT_EQ(g.nodes.size(), 1u);
}

TEST(FuseInvertedResidual, NotWhereSomethingElseReadsWhatLiesBetween) {
  GraphMaker m;
  const Id x = m.input("x", {1, 6, 8, 8});
  const Id wide = m.conv(x, 6, 20, 1);
  const Id apart = m.conv(wide, 20, 20, 3, 1, 20);
  const Id narrow = m.conv(apart, 20, 6, 1);
  const ir::Graph g = apply(prepare_and_fuse, m.finish({wide, apart, narrow}));
  EXPECT_EQ(count(g, "InvertedResidual"), 0u);
  EXPECT_EQ(count(g, "Conv"), 3u);
}

TEST(FuseInvertedResidual, NotOtherConvolutions) {
  GraphMaker m;
  const Id x = m.input("x", {1, 6, 8, 8});
  const Id three = m.conv(m.conv(m.conv(x, 6, 20), 20, 20, 3, 1, 20), 20, 6);         // 3x3 before and behind
  const Id dense = m.conv(m.conv(m.conv(x, 6, 20, 1), 20, 20), 20, 6, 1);             // dense between
  const Id groups = m.conv(m.conv(m.conv(x, 6, 20, 1), 20, 20, 3, 1, 10), 20, 6, 1);  // groups of two
  const Id several = m.conv(m.conv(m.conv(x, 6, 20, 1), 20, 40, 3, 1, 20), 40, 6, 1);  // two outputs an input
  const Id grouped = m.conv(m.conv(m.conv(x, 6, 20, 1, 1, 2), 20, 20, 3, 1, 20), 20, 6, 1, 1, 2);
  const Id strided = m.conv(m.conv(m.conv(x, 6, 20, 1, 2), 20, 20, 3, 1, 20), 20, 6, 1, 2);
  const ir::Graph g = apply(prepare_and_fuse, m.finish({three, dense, groups, several, grouped, strided}));
  EXPECT_EQ(count(g, "InvertedResidual"), 0u);
}

// Of a block, of one with two convolutions, of a convolution.
template <int kWhole, int kHalf>
double block_cost(const KernelQuery& query) {
  return query.node.has_input(1) && query.node.has_input(5) ? kWhole : kHalf;
}
template <int kConv>
double conv_cost(const KernelQuery&) {
  return kConv;
}
const char* never(const KernelQuery&) { return "never"; }

/// The steps of a block on a target with kernels at these prices.
template <int kWhole, int kHalf, int kConv>
std::vector<std::string> steps_at(const char* (*can_run)(const KernelQuery&) = testing::fake::pictures_last) {
  const std::array kernels{
      KernelDesc{"priced.block", "InvertedResidual", Isa::portable, false, can_run, block_cost<kWhole, kHalf>,
                 prepare_reference, testing::fake::run},
      KernelDesc{"priced.conv", "Conv", Isa::portable, false, testing::fake::pictures_last, conv_cost<kConv>,
                 prepare_reference, testing::fake::run},
  };
  const testing::fake::FakeTarget target{kernels};
  GraphMaker m;
  const Id x = m.input("x", {1, 6, 8, 8});
  const Id wide = m.node("Relu", {m.conv(x, 6, 20, 1)});
  const Id apart = m.node("Relu", {m.conv(wide, 20, 20, 3, 1, 20)});
  const Id y = m.node("Add", {m.conv(apart, 20, 6, 1), x});
  Options options;
  options.input_shapes = {{1, 6, 8, 8}};
  std::vector<std::string> ops;
  for (const Step& step : compile(m.finish({y}), target, options).steps)
    if (step.op != "Reorder") ops.push_back(step.op);
  return ops;
}

TEST(FuseInvertedResidual, OnlyWhatTheTargetDoesCheaperStaysFused) {
  using Ops = std::vector<std::string>;
  EXPECT_EQ((steps_at<29, 100, 10>()), Ops{"InvertedResidual"});
  EXPECT_EQ((steps_at<31, 100, 10>()), (Ops{"Conv", "Conv", "Conv"}));
  EXPECT_EQ((steps_at<31, 19, 10>()), (Ops{"InvertedResidual", "Conv"}));
  EXPECT_EQ((steps_at<1, 1, 10>(never)), (Ops{"Conv", "Conv", "Conv"}));
}

}  // namespace
}  // namespace saccade::compiler
