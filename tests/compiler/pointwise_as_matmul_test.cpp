#include "compiler/passes/pointwise_as_matmul.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::find;
using testing::GraphMaker;

TEST(PointwiseAsMatmul, FiltersThatAreComputed) {
  for (const std::int64_t batch : {1, 3})
    for (const std::int64_t groups : {1, 2})
      for (const bool bias : {false, true}) {
        GraphMaker m;
        const auto x = m.input("x", {batch, 6, 4, 5}), w = m.input("w", {8, 6 / groups, 1, 1});
        std::vector<ir::ValueId> inputs{x, w};
        if (bias) inputs.push_back(m.input("b", {8}));
        const ir::Graph g =
            apply(pointwise_as_matmul, m.finish({m.node("Conv", inputs, {{"group", groups}})}));
        EXPECT_EQ(find(g, "Conv"), nullptr);
        EXPECT_NE(find(g, "MatMul"), nullptr);
      }
}

TEST(PointwiseAsMatmul, OthersStay) {
  GraphMaker m;
  const auto x = m.input("x", {1, 6, 4, 5}), w = m.input("w", {8, 6, 1, 1}),
             wide = m.input("v", {8, 6, 3, 3});
  const std::vector<std::int64_t> two{2, 2}, pads{1, 1, 1, 1};
  const ir::Graph g = apply(pointwise_as_matmul,
                            m.finish({m.node("Conv", {x, wide}), m.node("Conv", {x, w}, {{"strides", two}}),
                                      m.node("Conv", {x, w}, {{"pads", pads}}), m.conv(x, 6, 8, 1)}));
  EXPECT_EQ(find(g, "MatMul"), nullptr);
}

}  // namespace
}  // namespace saccade::compiler
