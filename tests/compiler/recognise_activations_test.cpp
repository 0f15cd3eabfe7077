#include "compiler/passes/recognise_activations.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;

Id clip(GraphMaker& m, Id x, float low, float high) {
  return m.node("Clip", {x, m.scalar(low), m.scalar(high)});
}

TEST(RecogniseActivations, HardSwishFromGate) {
  GraphMaker m;
  const auto x = m.input("x", {2, 8});
  const auto gate = m.node("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  const ir::Graph g = apply(recognise_activations, m.finish({m.node("Mul", {gate, x})}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op, "HardSwish");
}

TEST(RecogniseActivations, HardSwishFromClipEitherWay) {
  for (const bool product_first : {true, false}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 8});
    const auto gate = clip(m, m.node("Add", {x, m.scalar(3)}), 0, 6);
    const auto sixth = m.scalar(1.0f / 6);
    const auto y = product_first ? m.node("Mul", {m.node("Mul", {x, gate}), sixth})
                                 : m.node("Mul", {x, m.node("Mul", {gate, sixth})});
    const ir::Graph g = apply(recognise_activations, m.finish({y}));
    ASSERT_EQ(g.nodes.size(), 1u) << product_first;
    EXPECT_EQ(g.nodes[0].op, "HardSwish");
  }
}

TEST(RecogniseActivations, HardSigmoid) {
  GraphMaker m;
  const auto x = m.input("x", {2, 8});
  const ir::Graph g =
      apply(recognise_activations,
            m.finish({m.node("Mul", {clip(m, m.node("Add", {m.scalar(1), x}), 0, 4), m.scalar(0.25f)})}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op, "HardSigmoid");
}

TEST(RecogniseActivations, Silu) {
  GraphMaker m;
  const auto x = m.input("x", {2, 8});
  const ir::Graph g = apply(recognise_activations, m.finish({m.node("Mul", {x, m.node("Sigmoid", {x})})}));
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].op, "Silu");
}

TEST(RecogniseActivations, GeluFromItsFactorsInAnyOrder) {
  for (const int order : {0, 1, 2, 3}) {
    GraphMaker m;
    const auto x = m.input("x", {2, 8});
    const auto erf = m.node("Erf", {m.node("Mul", {x, m.scalar(0.70710678f)})});
    const auto sum = m.node("Add", {erf, m.scalar(order == 3 ? 2.0f : 1.0f)});
    const auto half = m.scalar(0.5f);
    const auto y = order == 1   ? m.node("Mul", {m.node("Mul", {half, x}), sum})
                   : order == 2 ? m.node("Mul", {x, m.node("Mul", {sum, half})})
                                : m.node("Mul", {m.node("Mul", {x, sum}), half});
    const ir::Graph g = apply(recognise_activations, m.finish({y}));
    EXPECT_EQ(count(g, "Gelu"), order == 3 ? 0u : 1u) << order;
    EXPECT_EQ(g.nodes.size() == 1, order != 3) << order;
  }
}

TEST(RecogniseActivations, GeluOfSomethingElseStays) {
  GraphMaker m;
  const auto x = m.input("x", {2, 8}), z = m.input("z", {2, 8});
  const auto erf = m.node("Erf", {m.node("Mul", {x, m.scalar(0.70710678f)})});
  const auto y = m.node("Mul", {m.node("Mul", {z, m.node("Add", {erf, m.scalar(1)})}), m.scalar(0.5f)});
  EXPECT_EQ(count(apply(recognise_activations, m.finish({y})), "Gelu"), 0u);
}

TEST(RecogniseActivations, Clips) {
  GraphMaker m;
  const auto x = m.input("x", {2, 8});
  const auto relu = m.node("Max", {x, m.scalar(0)});
  const auto both = m.node("Min", {m.node("Max", {x, m.scalar(-0.5f)}), m.scalar(0.5f)});
  const ir::Graph g = apply(recognise_activations, m.finish({relu, both}));
  EXPECT_EQ(g.nodes.size(), 2u);
  EXPECT_NE(find(g, "Relu"), nullptr);
  EXPECT_NE(find(g, "Clip"), nullptr);
}

TEST(RecogniseActivations, NotLookAlikes) {
  GraphMaker m;
  const auto x = m.input("x", {2, 8});
  const auto y = m.input("y", {2, 8});
  const auto other = m.node("Mul", {y, m.node("Sigmoid", {x})});  // gated by something else
  const auto gate = m.node("Sigmoid", {x});
  const auto shared = m.node("Mul", {x, gate});  // gate is an output too
  const auto slope =
      m.node("Mul", {x, m.node("HardSigmoid", {x}, {{"alpha", 0.2f}, {"beta", 0.5f}})});  // another slope
  const auto scale =
      m.node("Mul", {clip(m, m.node("Add", {x, m.scalar(3)}), 0, 6), m.scalar(0.5f)});  // not to 1
  const auto crossed =
      m.node("Min", {m.node("Max", {x, m.scalar(0.5f)}), m.scalar(-0.5f)});  // low above high
  const ir::Graph g = apply(recognise_activations, m.finish({other, gate, shared, slope, scale, crossed}));
  EXPECT_EQ(count(g, "HardSwish") + count(g, "Silu"), 0u);
  EXPECT_EQ(count(g, "Sigmoid"), 2u);
  EXPECT_EQ(count(g, "HardSigmoid"), 1u);
  EXPECT_EQ(count(g, "Clip"), 3u);
}

}  // namespace
}  // namespace saccade::compiler
