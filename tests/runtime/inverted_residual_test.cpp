// Blocks computed row by row give the same bits as their convolutions one after the other.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/graph_maker.h"
#include "cpu/emulated_target.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"

namespace saccade {
namespace {

using testing::GraphMaker;
using Id = ir::ValueId;

struct Sizes {
  std::int64_t height, width, channels, expanded, kernel;
};

// Blocks of every form: with a residual, with stride, without projection, without expansion. `between`: with
// convolutions before and behind them, so that they neither begin nor end the network.
Model network(const Sizes& s, std::int64_t batch, bool between) {
  GraphMaker m;
  Id picture = m.input("picture", {batch, s.channels, s.height, s.width});
  if (between) picture = m.conv(picture, s.channels, s.channels, 3);
  const auto expand = [&](Id x, std::int64_t in) {
    return m.node("HardSwish", {m.conv(x, in, s.expanded, 1)});
  };
  const auto apart = [&](Id x, std::int64_t channels, std::int64_t stride) {
    return m.node("Relu", {m.conv(x, channels, channels, s.kernel, stride, channels)});
  };
  const Id first = m.node(
      "Add", {m.conv(apart(expand(picture, s.channels), s.expanded, 1), s.expanded, s.channels, 1), picture});
  Id second = m.conv(apart(expand(first, s.channels), s.expanded, 2), s.expanded, 24, 1);
  const Id third = apart(expand(second, 24), s.expanded, 1);
  const Id gated = m.node("Mul", {third, m.node("Sigmoid", {m.node("GlobalAveragePool", {third})})});
  Id fourth = m.conv(
      apart(m.node("MaxPool", {gated}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}), s.expanded, 1),
      s.expanded, 16, 1);
  if (between) second = m.conv(second, 24, 24, 3), fourth = m.conv(fourth, 16, 16, 3);
  return runtime::make_model(m.finish({second, fourth}));
}

std::vector<Tensor> pictures(const Model& model) {
  Tensor tensor(DType::f32, model.inputs()[0].shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = static_cast<float>((i * 7919 + 13) % 1009) / 504.5f - 1.0f;
  return {tensor};
}

std::size_t blocks(const Plan& plan) {
  std::size_t count = 0;
  for (const compiler::Step& step : plan.impl().compiled.steps)
    count += step.kernel->name.starts_with("inverted_residual") ? 1 : 0;
  return count;
}

void compare(const compiler::Target& target, Isa isa, const Sizes& sizes,
             Precision precision = Precision::fp32) {
  SCOPED_TRACE(std::string(target.name()) + " " + isa_name(isa) + " " + std::to_string(sizes.height) + "x" +
               std::to_string(sizes.width) + " window " + std::to_string(sizes.kernel));
  for (const std::int64_t batch : {1, 3}) {
    const bool narrow = precision == Precision::bf16;
    const Model model = network(sizes, batch, narrow);
    const std::vector<Tensor> inputs = pictures(model);
    CompileOptions options;
    options.max_isa = isa;
    options.precision = precision;
    options.disabled_passes = {"means_while_written"};  // whose sums have the order of tasks
    const Plan fused = model.compile(target, options);
    EXPECT_EQ(blocks(fused), 4u);
    options.disabled_passes.emplace_back("fuse_inverted_residual");
    const Plan apart = model.compile(target, options);
    EXPECT_EQ(blocks(apart), 0u);
    const std::vector<Tensor> want = apart.make_context().run(inputs);
    for (const int threads : {1, 2, 3}) {
      const std::vector<Tensor> got = fused.make_context({threads}).run(inputs);
      for (std::size_t o = 0; o < want.size(); ++o)
        EXPECT_EQ(std::memcmp(want[o].raw(), got[o].raw(), want[o].bytes()), 0) << "output " << o;
    }
  }
}

TEST(InvertedResidual, SameBitsAsItsConvolutions) {
  for (const Sizes& sizes : {Sizes{37, 51, 16, 64, 3}, Sizes{50, 33, 20, 72, 5}}) {
    for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
      if (isa <= active_isa()) compare(cpu::target(), isa, sizes);
    if (active_isa() >= Isa::avx2) compare(cpu::emulated_target(), Isa::avx2, sizes);
  }
}

// Not emulated: the emulation's tiles of AMX, which add in another order, are predicted to be faster than
// blocks.
TEST(InvertedResidual, SameBitsOverBf16) {
  if (active_isa() < Isa::avx512_bf16) GTEST_SKIP() << "no AVX512_BF16";
  for (const Sizes& sizes : {Sizes{37, 51, 16, 64, 3}, Sizes{50, 33, 20, 72, 5}})
    compare(cpu::target(), Isa::avx512_bf16, sizes, Precision::bf16);
}

}  // namespace
}  // namespace saccade
