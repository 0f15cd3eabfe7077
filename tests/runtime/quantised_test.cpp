// Quantised networks in bytes from layer to layer, against the same networks computed with floats.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/compiled_graph.h"
#include "compiler/graph_maker.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"

namespace saccade {
namespace {

using testing::GraphMaker;
using Id = ir::ValueId;
using Integers = std::vector<std::int64_t>;

/// What quantisation tools write: everything is rounded to bytes behind every operator.
class Network {
 public:
  Network(unsigned seed, DType dtype) : random_(seed), dtype_(dtype) {}

  Id constant_byte(int value) {
    Tensor t(dtype_, {});
    static_cast<std::uint8_t*>(t.raw())[0] = static_cast<std::uint8_t>(value);
    return m_.graph.add_constant("z" + std::to_string(m_.graph.values.size()), t);
  }
  Id rounded(Id x, float scale, int point) {
    const int zero = dtype_ == DType::i8 ? point - 128 : point;
    const Id q = m_.node("QuantizeLinear", {x, m_.scalar(scale), constant_byte(zero)});
    return m_.node("DequantizeLinear", {q, m_.scalar(scale), constant_byte(zero)});
  }
  Id conv(Id x, float x_scale, std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
          std::int64_t dilation, std::int64_t group, bool relu) {
    const Shape shape{out, in / group, size, size};
    std::vector<std::int8_t> values(static_cast<std::size_t>(element_count(shape)));
    for (std::int8_t& v : values) v = static_cast<std::int8_t>(static_cast<int>(random_() % 255) - 127);
    std::vector<float> scales(static_cast<std::size_t>(out)), bias(static_cast<std::size_t>(out));
    for (std::size_t f = 0; f < scales.size(); ++f) {
      scales[f] = 0.001f * static_cast<float>(1 + f % 5);
      bias[f] = static_cast<float>(static_cast<int>(random_() % 2001) - 1000) * (x_scale * scales[f]);
    }
    const Id stored =
        m_.graph.add_constant("w" + std::to_string(m_.graph.values.size()),
                              Tensor::of<std::int8_t>(shape, std::span<const std::int8_t>(values)));
    const Id w = m_.node("DequantizeLinear", {stored, m_.floats({out}, scales)}, {{"axis", std::int64_t{0}}});
    const std::int64_t pad = size / 2 * dilation;
    const Id y = m_.node("Conv", {x, w, m_.floats({out}, bias)},
                         {{"strides", Integers{stride, stride}},
                          {"dilations", Integers{dilation, dilation}},
                          {"pads", Integers{pad, pad, pad, pad}},
                          {"group", group}});
    return relu ? m_.node("Relu", {y}) : y;
  }

  ir::Graph make() {
    Id x = rounded(m_.input("x", {1, 3, 21, 26}), 0.02f, 128);
    x = rounded(conv(x, 0.02f, 3, 16, 3, 2, 1, 1, true), 0.03f, 0);
    const Id skip = x;
    Id y = rounded(conv(x, 0.03f, 16, 24, 1, 1, 1, 1, true), 0.04f, 10);
    y = rounded(conv(y, 0.04f, 24, 24, 5, 1, 1, 24, true), 0.05f, 0);
    const Id mean = rounded(m_.node("GlobalAveragePool", {y}), 0.03f, 0);
    y = rounded(m_.node("Mul", {y, rounded(m_.node("Sigmoid", {mean}), 1.0f / 256, 0)}), 0.05f, 0);
    y = rounded(conv(y, 0.05f, 24, 16, 1, 1, 1, 1, false), 0.06f, 128);
    x = rounded(m_.node("Relu", {m_.node("Add", {y, skip})}), 0.05f, 0);
    const Id pooled =
        m_.node("MaxPool", {x}, {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}});
    Id low = rounded(conv(rounded(pooled, 0.05f, 0), 0.05f, 16, 33, 3, 1, 2, 1, true), 0.07f, 3);
    low = m_.node("Resize", {low, ir::kNoValue, ir::kNoValue, m_.integers({1, 33, 11, 13})},
                  {{"mode", std::string("linear")}});
    x = rounded(m_.node("Concat", {rounded(low, 0.07f, 3), x}, {{"axis", std::int64_t{1}}}), 0.08f, 2);
    x = rounded(conv(x, 0.08f, 49, 7, 3, 1, 1, 1, false), 0.1f, 120);
    return m_.finish({x});
  }

 private:
  GraphMaker m_;
  std::mt19937 random_;
  DType dtype_;
};

Tensor picture() {
  Tensor t(DType::f32, {1, 3, 21, 26});
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 7919 + 13) % 1009) / 250.0f - 2.0f;
  return t;
}

/// Layers that multiply bytes or choose among them; sums and means of bytes may as well run on floats.
std::size_t steps_on_bytes(const Plan& plan) {
  std::size_t n = 0;
  for (const compiler::Step& step : plan.impl().compiled.steps) {
    const std::string_view name = step.kernel->name;
    n += name.find(".int8") != std::string_view::npos && !name.starts_with("elementwise") &&
         !name.starts_with("reduce");
  }
  return n;
}

void check(const compiler::Target& target, Isa isa) {
  for (const DType dtype : {DType::u8, DType::i8})
    for (unsigned seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(std::string(target.name()) + ", " + isa_name(isa) + ", " + dtype_name(dtype) +
                   ", network " + std::to_string(seed));
      const Model model = runtime::make_model(Network(seed, dtype).make());
      const Tensor x = picture();
      CompileOptions options;
      options.max_isa = isa;
      const Plan plan = model.compile(target, options);
      EXPECT_EQ(steps_on_bytes(plan), 7u);
      for (const compiler::Step& step : plan.impl().compiled.steps)
        EXPECT_FALSE(step.kernel->reference) << step.name << " runs on " << step.kernel->name;
      const Tensor one = plan.make_context().run(std::span(&x, 1))[0];
      const Tensor two = plan.make_context({2}).run(std::span(&x, 1))[0];
      EXPECT_EQ(std::memcmp(one.raw(), two.raw(), one.bytes()), 0);
      options.disabled_passes = {"keep_bytes", "fuse_quantised_conv", "open_quantised"};
      const Plan floats = model.compile(cpu::target(), options);
      EXPECT_EQ(steps_on_bytes(floats), 0u);
      const Tensor want = floats.make_context().run(std::span(&x, 1))[0];
      for (std::int64_t i = 0; i < want.count(); ++i)
        ASSERT_EQ(want.data<float>()[i], one.data<float>()[i]) << "element " << i;
    }
}

TEST(QuantisedNetwork, HasTheBitsOfFloatsOnEachInstructionSet) {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx})
    if (isa <= active_isa()) check(cpu::target(), isa);
}

}  // namespace
}  // namespace saccade
