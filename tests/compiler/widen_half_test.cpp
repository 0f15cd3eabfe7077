#include "compiler/passes/widen_half.h"

#include "ops/convert.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::find;
using testing::GraphMaker;

// Halves of a type, through operators that do not round: both graphs give the same.
ir::Graph halves(DType half) {
  GraphMaker m;
  const auto x = m.input("x", {1, 3, 4, 5}, half), y = m.input("y", {1, 3, 4, 5});
  const auto wide = m.node("Cast", {x}, {{"to", std::string("float32")}});
  const auto narrow = m.node("Cast", {m.node("Max", {wide, y})}, {{"to", std::string(dtype_name(half))}});
  const auto limit =
      m.graph.add_constant("limit", ops::convert(Tensor::of<float>({}, std::vector{0.25f}), half));
  const auto result = m.node("Min", {m.node("Relu", {narrow}), limit});
  return m.finish({result, m.node("Neg", {result}), m.node("Cast", {x}, {{"to", std::string("int32")}})});
}

TEST(WidenHalf, EverythingButInputsAndResults) {
  for (const DType half : {DType::f16, DType::bf16}) {
    const ir::Graph before = halves(half);
    ir::Graph g = before;
    widen_half(g);
    ops::verify(g);
    ops::infer_graph(g);
    for (std::size_t i = 0; i < g.inputs.size(); ++i)
      EXPECT_EQ(g.value(g.inputs[i]).dtype, before.value(before.inputs[i]).dtype);
    for (std::size_t i = 0; i < g.outputs.size(); ++i)
      EXPECT_EQ(g.value(g.outputs[i]).dtype, before.value(before.outputs[i]).dtype);
    for (const ir::Node& node : g.nodes) {
      if (node.op == "Cast") continue;
      for (const ir::ValueId id : node.inputs) EXPECT_EQ(g.value(id).dtype, DType::f32) << node.op;
      for (const ir::ValueId id : node.outputs) EXPECT_EQ(g.value(id).dtype, DType::f32) << node.op;
    }
    EXPECT_EQ(find(g, "Identity") == nullptr, false);  // what was a cast between them
  }
}

TEST(WidenHalf, NetworksOfFloatsStay) {
  GraphMaker m;
  const ir::Graph before = m.finish({m.node("Relu", {m.conv(m.input("x", {1, 3, 8, 8}), 3, 4)})});
  ir::Graph g = before;
  widen_half(g);
  EXPECT_EQ(g.nodes.size(), before.nodes.size());
  EXPECT_EQ(g.values.size(), before.values.size());
}

TEST(WidenHalf, BitsOfHalvesStay) {
  GraphMaker m;
  const auto bits = m.node("BitCast", {m.input("x", {4}, DType::f16)}, {{"to", std::string("uint16")}});
  ir::Graph g = m.finish({bits});
  widen_half(g);
  EXPECT_EQ(g.value(g.nodes.front().inputs[0]).dtype, DType::f16);
}

// An input that is a result, a result that is read, a constant that is a result.
TEST(WidenHalf, EndsOfAllKinds) {
  GraphMaker m;
  const auto x = m.input("x", {2, 3}, DType::f16);
  const auto c =
      m.graph.add_constant("c", ops::convert(Tensor::of<float>({1}, std::vector{0.5f}), DType::f16));
  const auto y = m.node("Max", {x, c});
  const ir::Graph before = m.finish({x, c, y, m.node("Neg", {y})}), g = apply(widen_half, before);
  for (const ir::ValueId id : g.outputs) EXPECT_EQ(g.value(id).dtype, DType::f16);
}

}  // namespace
}  // namespace saccade::compiler
