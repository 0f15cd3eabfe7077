// Passes that keep quantised tensors in bytes.
#include <algorithm>

#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/fuse_quantised_conv.h"
#include "compiler/passes/integer_sums.h"
#include "compiler/passes/keep_bytes.h"
#include "compiler/passes/open_quantised.h"
#include "interpret/interpreter.h"
#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::count;
using testing::find;
using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

template <class T>
Id bytes(GraphMaker& m, const Shape& shape, const std::vector<T>& values) {
  return m.graph.add_constant("b" + std::to_string(m.graph.values.size()),
                              Tensor::of<T>(shape, std::span<const T>(values)));
}

Id weights(GraphMaker& m, const Shape& shape) {
  std::vector<std::int8_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 + 11) % 255 - 127);
  return bytes(m, shape, values);
}

Id zero(GraphMaker& m, std::uint8_t value) { return bytes<std::uint8_t>(m, {}, {value}); }

Id quantise(GraphMaker& m, Id x, float scale, std::uint8_t point) {
  return m.node("QuantizeLinear", {x, m.scalar(scale), zero(m, point)});
}

Id dequantise(GraphMaker& m, Id x, float scale, std::uint8_t point) {
  return m.node("DequantizeLinear", {x, m.scalar(scale), zero(m, point)});
}

struct ConvForm {
  std::int64_t channels = 3, filters = 4, group = 1;
  std::string between;
  std::vector<float> bias = {0.037f * 0.01f * 100, 0, 0.037f * 0.005f * -7, 0.037f * 0.013f * 12345};
  bool used_twice = false;
  std::int64_t scale_axis = 0;
};

ir::Graph quantised_conv(const ConvForm& form = {}) {
  GraphMaker m;
  const Id x = m.input("x", {1, form.channels, 6, 7}, DType::u8);
  const Id real = dequantise(m, x, 0.037f, 5);
  const Id scales = m.floats({4}, {0.01f, 0.02f, 0.005f, 0.013f});
  const Id w =
      m.node("DequantizeLinear", {weights(m, {form.filters, form.channels / form.group, 3, 3}), scales},
             {{"axis", form.scale_axis}});
  Id y = m.node("Conv", {real, w, m.floats({form.filters}, form.bias)},
                {{"pads", Integers{1, 1, 1, 1}}, {"group", form.group}});
  const Id conv = y;
  if (form.between == "Clip") y = m.node("Clip", {y, m.scalar(-0.5f), m.scalar(6.0f)});
  if (form.between == "Relu" || form.between == "Abs") y = m.node(form.between, {y});
  std::vector<Id> outputs{quantise(m, y, 0.11f, 100)};
  if (form.used_twice) outputs.push_back(conv);
  return m.finish(outputs);
}

Tensor random_bytes(const Shape& shape, unsigned seed) {
  Tensor t(DType::u8, shape);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(random());
  return t;
}

TEST(FuseQuantisedConv, MakesOneConvolutionWithTheSameBits) {
  for (const char* between : {"", "Relu", "Clip"}) {
    SCOPED_TRACE(between);
    ConvForm form;
    form.between = between;
    const ir::Graph before = quantised_conv(form);
    const ir::Graph g = apply(fuse_quantised_conv, before);
    EXPECT_EQ(g.nodes.size(), 1u);
    const ir::Node* conv = find(g, "QLinearConv");
    ASSERT_NE(conv, nullptr);
    EXPECT_EQ(conv->has("low"), form.between != "");
    EXPECT_EQ(conv->has("high"), form.between == "Clip");
    EXPECT_EQ(conv->integer("low", 0), form.between == "Relu" ? 100 : form.between == "Clip" ? 95 : 0);
    EXPECT_EQ(g.constant_input(*conv, 8)->data<std::int32_t>()[3], 12345);
    // As the path over floats computes it.
    const ir::Graph sums = apply(integer_sums, before);
    for (unsigned seed = 0; seed < 5; ++seed) {
      const Tensor x = random_bytes({1, 3, 6, 7}, seed);
      const std::vector<Tensor> a = interpret::run(g, std::span(&x, 1)),
                                b = interpret::run(sums, std::span(&x, 1));
      EXPECT_TRUE(std::ranges::equal(a[0].values<std::uint8_t>(), b[0].values<std::uint8_t>()));
    }
  }
  ConvForm depthwise;
  depthwise.channels = depthwise.group = 4;
  EXPECT_EQ(count(apply(fuse_quantised_conv, quantised_conv(depthwise)), "QLinearConv"), 1u);
}

TEST(FuseQuantisedConv, MakesPixelsSideBySide) {
  for (const std::int64_t side : {2, 3})
    for (const std::int64_t stride : {2, 3}) {
      GraphMaker m;
      const Id x = m.input("x", {1, 3, 4, 5}, DType::u8);
      const Id scales = m.floats({4}, {0.01f, 0.02f, 0.005f, 0.013f});
      const Id w =
          m.node("DequantizeLinear", {weights(m, {3, 4, side, side}), scales}, {{"axis", std::int64_t{1}}});
      const Id b = m.floats({4}, {0.037f * 0.01f * 100, 0, 0.037f * 0.005f * -7, 0.037f * 0.013f * 12345});
      const Id y = m.node("ConvTranspose", {dequantise(m, x, 0.037f, 5), w, b},
                          {{"strides", Integers{stride, stride}}});
      const ir::Graph before = m.finish({quantise(m, m.node("Relu", {y}), 0.11f, 100)});
      const ir::Graph g = apply(fuse_quantised_conv, before);
      EXPECT_EQ(count(g, "QLinearConv"), side == stride ? 1u : 0u);
      const ir::Graph sums = apply(integer_sums, before);
      const Tensor in = random_bytes({1, 3, 4, 5}, 3);
      const std::vector<Tensor> got = interpret::run(g, std::span(&in, 1)),
                                want = interpret::run(sums, std::span(&in, 1));
      if (side == stride) {
        EXPECT_TRUE(std::ranges::equal(got[0].values<std::uint8_t>(), want[0].values<std::uint8_t>()));
      }
    }
}

TEST(FuseQuantisedConv, LeavesOthersAlone) {
  std::vector<ConvForm> forms(6);
  forms[0].bias[1] = 0.5f * 0.037f * 0.02f;  // half a product
  forms[1].used_twice = true;
  forms[2].between = "Abs";
  forms[3].channels = 4, forms[3].group = 2;
  forms[4].channels = 4, forms[4].scale_axis = 1;
  forms[5].bias[0] = 1e9f;  // beyond 32 bits
  for (std::size_t i = 0; i < forms.size(); ++i) {
    SCOPED_TRACE(i);
    const ir::Graph before = quantised_conv(forms[i]);
    const ir::Graph g = apply(fuse_quantised_conv, before);
    EXPECT_EQ(count(g, "QLinearConv"), 0u);
    EXPECT_EQ(g.nodes.size(), before.nodes.size());
  }
}

TEST(KeepBytes, MovesBytesAndNotNumbers) {
  GraphMaker m;
  const Id x = m.input("x", {1, 4, 6, 8}, DType::u8);
  const Id real = dequantise(m, x, 0.1f, 3);
  const Id pooled =
      m.node("MaxPool", {real}, {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}});
  const ir::Graph g = apply(keep_bytes, m.finish({quantise(m, m.to_nhwc(pooled), 0.1f, 3)}));
  EXPECT_EQ(count(g, "QuantizeLinear") + count(g, "DequantizeLinear"), 0u);
  EXPECT_EQ(g.value(find(g, "MaxPool")->outputs[0]).dtype, DType::u8);
}

TEST(KeepBytes, KeepsARoundingThatIsNotTheSame) {
  GraphMaker m;
  const Id x = m.input("x", {1, 4, 6, 8}, DType::u8);
  const Id real = m.node("Transpose", {dequantise(m, x, 0.1f, 3)});
  const ir::Graph g =
      apply(keep_bytes, m.finish({quantise(m, real, 0.1f, 4), quantise(m, real, 0.2f, 3), real}));
  EXPECT_EQ(count(g, "QuantizeLinear"), 2u);
}

TEST(KeepBytes, JoinsParts) {
  for (const bool equal : {true, false}) {
    GraphMaker m;
    const Id a = m.input("a", {1, 2, 3, 4}, DType::u8), b = m.input("b", {1, 5, 3, 4}, DType::u8);
    const Id c = m.input("c", {1, 1, 3, 4});
    const Id joined = m.node("Concat", {dequantise(m, a, 0.1f, 3), dequantise(m, b, equal ? 0.1f : 0.2f, 3)},
                             {{"axis", std::int64_t{1}}});
    const Id mixed = m.node("Concat", {dequantise(m, a, 0.1f, 3), c}, {{"axis", std::int64_t{1}}});
    const ir::Graph g =
        apply(keep_bytes, m.finish({quantise(m, joined, 0.1f, 3), quantise(m, mixed, 0.1f, 3)}));
    for (const ir::Node& node : g.nodes)
      EXPECT_TRUE(node.op != "Concat" || g.value(node.outputs[0]).dtype == DType::u8);
    EXPECT_EQ(count(g, "DequantizeLinear"), equal ? 0u : 1u);
    EXPECT_EQ(count(g, "QuantizeLinear"), equal ? 1u : 2u);
  }
}

TEST(OpenQuantised, GivesTheSameBitsAndReadsBytes) {
  GraphMaker m;
  const Id a = m.input("a", {1, 3, 6, 7}, DType::u8), b = m.input("b", {1, 3, 6, 7}, DType::u8);
  const Id real = dequantise(m, a, 0.0173f, 20);
  const Id sum = m.node("Relu", {m.node("Add", {real, dequantise(m, b, 0.0371f, 0)})});
  const Id product = m.node("Mul", {real, m.scalar(3)});
  const ir::Graph before = m.finish({quantise(m, sum, 0.0473f, 7), product});
  const ir::Graph open = apply(open_quantised, before);
  EXPECT_EQ(count(open, "QuantizeLinear") + count(open, "DequantizeLinear"), 0u);
  EXPECT_EQ(count(open, "Cast"), 4u);
  const ir::Graph g = apply(fuse_elementwise, open);
  EXPECT_EQ(g.nodes.size(), 2u);
  for (const ir::Node& node : g.nodes) {
    EXPECT_EQ(node.op, "ElementwiseChain");
    for (const Id id : node.inputs) EXPECT_EQ(g.value(id).dtype, DType::u8);
  }
  EXPECT_EQ(g.value(g.outputs[0]).dtype, DType::u8);
  const std::vector<Tensor> in{random_bytes({1, 3, 6, 7}, 1), random_bytes({1, 3, 6, 7}, 2)};
  const std::vector<Tensor> want = interpret::run(before, in), got = interpret::run(g, in);
  EXPECT_TRUE(std::ranges::equal(want[0].values<std::uint8_t>(), got[0].values<std::uint8_t>()));
  EXPECT_TRUE(std::ranges::equal(want[1].values<float>(), got[1].values<float>()));
}

TEST(OpenQuantised, TakesMeansOfBytes) {
  for (const std::uint8_t point : {std::uint8_t{0}, std::uint8_t{3}}) {
    GraphMaker m;
    const Id x = m.input("x", {1, 3, 6, 7}, DType::u8);
    const Id mean = m.node("ReduceMean", {dequantise(m, x, 1.0f, point), m.integers({2, 3})});
    const ir::Graph before = m.finish({mean});
    const ir::Graph g = apply(open_quantised, before);
    EXPECT_EQ(count(g, "Cast"), point == 0 ? 0u : 1u);
    EXPECT_EQ(g.value(g.outputs[0]).dtype, DType::f32);
    const std::vector<Tensor> in{random_bytes({1, 3, 6, 7}, 1)};
    const std::vector<Tensor> want = interpret::run(before, in), got = interpret::run(g, in);
    EXPECT_TRUE(std::ranges::equal(want[0].values<float>(), got[0].values<float>()));
  }
}

TEST(OpenQuantised, NeedsOneScale) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 6, 7}, DType::u8), i = m.input("i", {3}, DType::i32);
  const Id scales = m.floats({3}, {0.1f, 0.2f, 0.3f});
  const ir::Graph before =
      m.finish({m.node("DequantizeLinear", {x, scales}), m.node("DequantizeLinear", {i, m.scalar(0.1f)})});
  EXPECT_EQ(apply(open_quantised, before).nodes.size(), before.nodes.size());
}

/// Bytes in the middle of a chain end it: what is stored there is needed by others.
TEST(OpenQuantised, StoresBytesOnce) {
  GraphMaker m;
  const Id x = m.input("x", {1, 3, 6, 7});
  const Id q = quantise(m, m.node("Relu", {x}), 0.02f, 3);
  const ir::Graph g = apply(
      fuse_elementwise, apply(open_quantised, m.finish({q, m.node("Abs", {dequantise(m, q, 0.02f, 3)})})));
  EXPECT_EQ(count(g, "ElementwiseChain"), 2u);
}

}  // namespace
}  // namespace saccade::compiler
