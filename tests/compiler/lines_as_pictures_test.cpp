#include "compiler/passes/lines_as_pictures.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::find;
using testing::GraphMaker;
using Integers = std::vector<std::int64_t>;

// The rank of what the node computes on.
std::size_t rank_of(const ir::Graph& g, std::string_view op) {
  return g.value(find(g, op)->inputs[0]).shape->size();
}

TEST(LinesAsPictures, Convolutions) {
  for (const std::int64_t stride : {1, 2})
    for (const std::int64_t dilation : {1, 2}) {
      GraphMaker m;
      const auto x = m.input("x", {2, 4, 17});
      const ir::Attributes a = {{"kernel_shape", Integers{3}},
                                {"strides", Integers{stride}},
                                {"dilations", Integers{dilation}},
                                {"pads", Integers{1, 2}}};
      EXPECT_EQ(rank_of(apply(lines_as_pictures,
                              m.finish({m.node("Conv", {x, m.random({6, 4, 3}), m.random({6})}, a)})),
                        "Conv"),
                4u);
      EXPECT_EQ(
          rank_of(apply(lines_as_pictures, m.finish({m.node("ConvTranspose", {x, m.random({4, 6, 3})}, a)})),
                  "ConvTranspose"),
          4u);
    }
}

TEST(LinesAsPictures, ConstantFiltersStayConstant) {
  GraphMaker m;
  const auto x = m.input("x", {1, 4, 17});
  const ir::Graph g = apply(lines_as_pictures, m.finish({m.node("Conv", {x, m.random({6, 4, 1})})}));
  EXPECT_NE(g.constant(find(g, "Conv")->inputs[1]), nullptr);
}

TEST(LinesAsPictures, Pools) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 4, 17});
    const ir::Graph g = apply(
        lines_as_pictures,
        m.finish({m.node(
            op, {x}, {{"kernel_shape", Integers{3}}, {"strides", Integers{2}}, {"pads", Integers{1, 1}}})}));
    EXPECT_EQ(rank_of(g, op), 4u);
  }
}

TEST(LinesAsPictures, PicturesAndVolumesStay) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 8, 8}), v = m.input("v", {1, 3, 4, 5, 6});
  const ir::Graph before = m.finish({m.conv(x, 3, 4), m.node("Conv", {v, m.random({2, 3, 1, 1, 1})})});
  EXPECT_EQ(apply(lines_as_pictures, before).nodes.size(), before.nodes.size());
}

}  // namespace
}  // namespace saccade::compiler
