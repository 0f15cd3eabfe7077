// Quantised networks: sums of whole numbers, and rounding without integers in between.
#include <algorithm>
#include <cmath>

#include "compiler/passes/expand_quantised.h"
#include "compiler/passes/fold_batch_norm.h"
#include "compiler/passes/fuse_requantise.h"
#include "compiler/passes/integer_sums.h"
#include "interpret/interpreter.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

Id bytes(GraphMaker& m, const Shape& shape, int seed) {
  std::vector<std::int8_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int8_t>((static_cast<int>(i) * 37 + seed * 11) % 255 - 127);
  return m.graph.add_constant("b" + std::to_string(m.graph.values.size()),
                              Tensor::of<std::int8_t>(shape, std::span<const std::int8_t>(values)));
}

Id zero(GraphMaker& m, std::int8_t value) {
  return m.graph.add_constant("z" + std::to_string(m.graph.values.size()),
                              Tensor::of<std::int8_t>({}, {value}));
}

Id requantised(GraphMaker& m, Id x, float scale, std::int8_t point) {
  const Id q = m.node("QuantizeLinear", {x, m.scalar(scale), zero(m, point)});
  return m.node("DequantizeLinear", {q, m.scalar(scale), zero(m, point)});
}

/// Convolution of a quantised picture by weights with a scale a channel and a bias.
ir::Graph quantised_conv(bool moved = false) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 6, 7}, DType::i8);
  Id real = m.node("DequantizeLinear", {x, m.scalar(0.037f), zero(m, 5)});
  if (moved) real = m.node("Relu", {real});
  const Id scales = m.floats({4}, {0.01f, 0.02f, 0.005f, 0.013f});
  const Id w = m.node("DequantizeLinear", {bytes(m, {4, 3, 3, 3}, 1), scales}, {{"axis", std::int64_t{0}}});
  const Id b = m.floats({4}, {0.37f, -1.11f, 0.0f, 2.0f});
  const Id y = m.node("Conv", {real, w, b}, {{"pads", Integers{1, 1, 1, 1}}});
  return m.finish({m.node("QuantizeLinear", {y, m.scalar(0.11f), zero(m, -3)})});
}

TEST(IntegerSums, ConvolvesWholeNumbers) {
  for (const bool moved : {false, true}) {
    const ir::Graph g = apply(integer_sums, quantised_conv(moved));
    const ir::Node* conv = find(g, "Conv");
    ASSERT_NE(conv, nullptr);
    for (const float w : g.constant_input(*conv, 1)->values<float>()) EXPECT_EQ(w, std::nearbyint(w));
    EXPECT_EQ(count(g, "Mul"), 1u);
    EXPECT_EQ(count(g, "Div"), moved ? 1u : 0u);
    EXPECT_EQ(count(g, "Round"), moved ? 1u : 0u);
  }
}

TEST(IntegerSums, TakesABiasOfIntegersAsItWas) {
  GraphMaker m;
  const Id x = m.input("x", {2, 5}, DType::i8);
  const Id real = m.node("DequantizeLinear", {x, m.scalar(0.037f), zero(m, 5)});
  const Id w = m.node("DequantizeLinear", {bytes(m, {5, 3}, 2), m.scalar(0.011f)});
  const std::vector<std::int32_t> stored = {1234, -77, 9};
  const Id integers =
      m.graph.add_constant("i", Tensor::of<std::int32_t>({3}, std::span<const std::int32_t>(stored)));
  const Id b = m.node("DequantizeLinear", {integers, m.scalar(0.037f * 0.011f)});
  const ir::Graph g = apply(integer_sums, m.finish({m.node("Gemm", {real, w, b})}));
  const auto bias = g.constant_input(*find(g, "Gemm"), 2)->values<float>();
  EXPECT_EQ(bias[0], 1234.0f);
  EXPECT_EQ(bias[1], -77.0f);
  EXPECT_EQ(bias[2], 9.0f);
}

TEST(ExpandQuantised, ComputesConvolutionsAndProductsWithRealNumbers) {
  GraphMaker m;
  const Id x = m.input("x", {1, 4, 6, 7}, DType::i8), a = m.input("a", {2, 5}, DType::i8);
  const std::vector<std::int32_t> stored = {500, -7, 0, 123};
  const Id b =
      m.graph.add_constant("b", Tensor::of<std::int32_t>({4}, std::span<const std::int32_t>(stored)));
  const Id scales = m.floats({4}, {0.01f, 0.02f, 0.005f, 0.013f});
  const std::vector<std::int8_t> none(4, 0);
  const Id zeros =
      m.graph.add_constant("zeros", Tensor::of<std::int8_t>({4}, std::span<const std::int8_t>(none)));
  const Id y = m.node("QLinearConv",
                      {x, m.scalar(0.037f), zero(m, 5), bytes(m, {4, 2, 3, 3}, 1), scales, zeros,
                       m.scalar(0.31f), zero(m, -3), b},
                      {{"pads", Integers{1, 1, 1, 1}}, {"group", std::int64_t{2}}});
  const Id p = m.node("QLinearMatMul", {a, m.scalar(0.037f), zero(m, 5), bytes(m, {5, 3}, 2), m.scalar(0.01f),
                                        zero(m, 1), m.scalar(0.31f), zero(m, -3)});
  const ir::Graph g = apply(expand_quantised, m.finish({y, p}));
  EXPECT_EQ(count(g, "QLinearConv") + count(g, "QLinearMatMul"), 0u);
  const ir::Graph sums = apply(integer_sums, g);
  EXPECT_EQ(count(sums, "Mul"), 2u);
  for (const float w : sums.constant_input(*find(sums, "Conv"), 1)->values<float>())
    EXPECT_EQ(w, std::nearbyint(w));
  EXPECT_EQ(sums.constant_input(*find(sums, "Conv"), 2)->values<float>()[1], -7.0f);
}

TEST(ExpandQuantised, LeavesConvolutionsThatKernelsHave) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 6, 7}, DType::i8);
  const Id y = m.node("QLinearConv", {x, m.scalar(0.037f), zero(m, 5), bytes(m, {4, 3, 3, 3}, 1),
                                      m.scalar(0.01f), zero(m, 0), m.scalar(0.31f), zero(m, -3)});
  EXPECT_EQ(count(apply(expand_quantised, m.finish({y})), "QLinearConv"), 1u);
}

TEST(IntegerSums, LeavesOthersAlone) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 6, 7});  // real numbers: weights alone are quantised
  const Id w = m.node("DequantizeLinear", {bytes(m, {4, 3, 1, 1}, 1), m.scalar(0.01f)});
  const Id i = m.input("i", {1, 3, 6, 7}, DType::i16);
  const Id wide = m.node("DequantizeLinear", {i, m.scalar(0.001f)});
  const ir::Graph before = m.finish({m.node("Conv", {x, w}), m.node("Conv", {wide, w})});
  const ir::Graph g = apply(integer_sums, before);
  EXPECT_EQ(count(g, "Mul"), 0u);
  EXPECT_EQ(g.nodes.size(), before.nodes.size());
}

TEST(IntegerSums, MeansHalfWayAreExact) {
  GraphMaker m;
  const Id x = m.input("x", {1, 1, 2, 2}, DType::i8);
  const Id real = m.node("DequantizeLinear", {x, m.scalar(0.1f)});
  const Id mean = m.node("AveragePool", {real}, {{"kernel_shape", Integers{2, 2}}});
  const ir::Graph g =
      apply(integer_sums, m.finish({m.node("QuantizeLinear", {mean, m.scalar(0.1f), zero(m, 0)})}));
  const Tensor in = Tensor::of<std::int8_t>({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(interpret::run(g, std::span(&in, 1))[0].values<std::int8_t>()[0], 2);  // 2.5, ties to even
}

// What integer kernels do: float(sum) * fl(fl(x_scale * w_scale) / y_scale), to nearest, ties to even. One
// channel, so that the sum is the input itself.
TEST(IntegerSums, RequantisesByOneFactor) {
  for (const bool relu : {false, true}) {
    GraphMaker m;
    const float x_scale = 0.0371f, w_scale = 0.01234f, y_scale = 0.0731f;
    const Id x = m.input("x", {1, 1, 1, 256}, DType::i8);
    const Id real = m.node("DequantizeLinear", {x, m.scalar(x_scale)});
    const Id w =
        m.node("DequantizeLinear",
               {m.graph.add_constant("w", Tensor::of<std::int8_t>({1, 1, 1, 1}, {113})), m.scalar(w_scale)});
    Id y = m.node("Conv", {real, w});
    if (relu) y = m.node("Relu", {y});
    const ir::Graph g =
        apply(integer_sums, m.finish({m.node("QuantizeLinear", {y, m.scalar(y_scale), zero(m, 3)})}));
    EXPECT_EQ(count(g, "Div"), 0u);
    const float ratio = x_scale * w_scale / y_scale;
    const ir::Node* mul = find(g, "Mul");
    ASSERT_NE(mul, nullptr);
    EXPECT_EQ(g.constant_input(*mul, 1)->values<float>()[0], ratio);
    Tensor in(DType::i8, {1, 1, 1, 256});
    for (int i = 0; i < 256; ++i) in.data<std::int8_t>()[i] = static_cast<std::int8_t>(i - 128);
    const std::vector<Tensor> out = interpret::run(g, std::span(&in, 1));
    for (int i = 0; i < 256; ++i) {
      const float steps = static_cast<float>((i - 128) * 113) * ratio;
      const float want =
          std::clamp(std::nearbyint(relu ? std::max(steps, 0.0f) : steps) + 3, -128.0f, 127.0f);
      EXPECT_EQ(static_cast<float>(out[0].data<std::int8_t>()[i]), want) << i - 128;
    }
  }
}

TEST(IntegerSums, ScalesStayOutOfWeights) {
  const ir::Graph sums = apply(integer_sums, quantised_conv());
  const ir::Graph g = apply(fold_batch_norm, sums);
  for (const float w : g.constant_input(*find(g, "Conv"), 1)->values<float>())
    EXPECT_EQ(w, std::nearbyint(w));
}

TEST(IntegerSums, AskResizeForAnOrder) {
  for (const bool quantised : {false, true}) {
    GraphMaker m;
    Id x = m.input("x", {1, 3, 4, 5}, quantised ? DType::i8 : DType::f32);
    if (quantised) x = m.node("DequantizeLinear", {x, m.scalar(0.0371f)});
    const Id scales = m.floats({4}, {1, 1, 2, 2});
    const Id y = m.node("Resize", {x, ir::kNoValue, scales}, {{"mode", std::string("linear")}});
    const ir::Graph g = apply(integer_sums, m.finish({y}));
    EXPECT_EQ(find(g, "Resize")->integer("corners", 0), quantised ? 1 : 0);
  }
}

TEST(FuseRequantise, GivesTheSameBits) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 6, 7});
  const ir::Graph before = m.finish({requantised(m, x, 0.0173f, -20)});
  const ir::Graph g = apply(fuse_requantise, before);
  EXPECT_EQ(count(g, "QuantizeLinear"), 0u);
  EXPECT_EQ(count(g, "DequantizeLinear"), 0u);
  EXPECT_EQ(count(g, "Round"), 1u);
  Tensor in(DType::f32, {1, 3, 6, 7});
  for (std::int64_t i = 0; i < in.count(); ++i)
    in.data<float>()[i] = static_cast<float>(i - 60) * 0.0173f * 1.5f;
  const std::vector<Tensor> a = interpret::run(before, std::span(&in, 1)),
                            b = interpret::run(g, std::span(&in, 1));
  for (std::int64_t i = 0; i < in.count(); ++i)
    EXPECT_EQ(a[0].data<float>()[i], b[0].data<float>()[i]) << "of " << in.data<float>()[i];
}

TEST(FuseRequantise, NeedsOneScaleAndOneZeroPoint) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 6, 7});
  const Id q = m.node("QuantizeLinear", {x, m.scalar(0.1f), zero(m, 1)});
  const Id other = m.node("DequantizeLinear", {q, m.scalar(0.1f), zero(m, 2)});
  const Id scales = m.floats({3}, {0.1f, 0.2f, 0.3f});
  const Id per_channel = m.node("DequantizeLinear", {q, scales});
  const ir::Graph g = apply(fuse_requantise, m.finish({other, per_channel, q}));
  EXPECT_EQ(count(g, "DequantizeLinear"), 2u);
}

}  // namespace
}  // namespace saccade::compiler
