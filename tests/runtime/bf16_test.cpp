// Networks that store activations as bf16: the planned executor against the reference executor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/compile.h"
#include "compiler/fake_target.h"
#include "compiler/random_network.h"
#include "cpu/emulated_target.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"

namespace saccade {
namespace {

/// The network as the compiler leaves it, with bf16 values and casts in the graph.
ir::Graph lowered(const ir::Graph& graph) {
  compiler::Options options;
  options.precision = compiler::Precision::bf16;
  for (const ir::ValueId id : graph.inputs) options.input_shapes.push_back(*graph.value(id).shape);
  return compiler::optimise(graph, options);
}

/// Runs that graph as it is.
CompileOptions as_it_is(Isa isa) {
  CompileOptions options;
  options.max_isa = isa;
  for (const std::string& name : compiler::pass_names())
    if (!compiler::pass_is_required(name)) options.disabled_passes.push_back(name);
  return options;
}

Tensor picture(const Shape& shape, std::int64_t batch) {
  Shape whole = shape;
  whole[0] = batch;
  Tensor tensor(DType::f32, whole);
  const std::int64_t sample = tensor.count() / batch;
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = static_cast<float>((i % sample * 7919 + 13) % 1009) / 504.5f - 1.0f;
  return tensor;
}

/// A sum in another order may be rounded the other way, and the difference travels on.
void expect_close(const std::vector<Tensor>& want, const std::vector<Tensor>& got) {
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(want[o].shape(), got[o].shape());
    ASSERT_EQ(want[o].dtype(), got[o].dtype());
    double largest = 1e-6, sum = 0;
    for (const float v : want[o].values<float>())
      largest = std::max(largest, std::fabs(static_cast<double>(v)));
    for (std::int64_t i = 0; i < want[o].count(); ++i) {
      const double w = static_cast<double>(want[o].data<float>()[i]),
                   g = static_cast<double>(got[o].data<float>()[i]);
      ASSERT_NEAR(w, g, 0.03 * largest) << "output " << o << ", element " << i;
      sum += std::fabs(w - g);
    }
    EXPECT_LE(sum / static_cast<double>(want[o].count()), 0.003 * largest) << "output " << o;
  }
}

bool same_bits(const Tensor& a, const void* b) { return std::memcmp(a.raw(), b, a.bytes()) == 0; }

void check_network(unsigned seed, const compiler::Target& target, Isa isa, bool fast) {
  SCOPED_TRACE("network " + std::to_string(seed) + " on " + std::string(target.name()) + ", " +
               isa_name(isa));
  const Model model = runtime::make_model(lowered(testing::random_network(seed, seed % 2 == 0)));
  const Shape shape = model.inputs()[0].shape;
  const std::vector<Tensor> inputs{picture(shape, 1)};
  const CompileOptions options = as_it_is(isa);
  const Plan plan = model.compile(target, options);
  for (const compiler::Step& step : plan.impl().compiled.steps) {
    if (!fast) break;
    EXPECT_FALSE(step.kernel->reference && step.multiply_adds > 0) << step.op << " '" << step.name << "'";
    EXPECT_FALSE(step.kernel->reference && step.op == "Cast") << step.name;
  }
  const std::vector<Tensor> one = plan.make_context().run(inputs);
  expect_close(model.interpret(inputs), one);
  for (const int threads : {2, 3}) {
    const std::vector<Tensor> many = plan.make_context({threads}).run(inputs);
    for (std::size_t o = 0; o < one.size(); ++o)
      EXPECT_TRUE(same_bits(one[o], many[o].raw())) << threads << " threads, output " << o;
  }
  const Model three = runtime::make_model(lowered(testing::random_network(seed, seed % 2 == 0, 3)));
  const std::vector<Tensor> pictures{picture(shape, 3)};
  const std::vector<Tensor> batch = three.compile(target, options).make_context({2}).run(pictures);
  for (std::size_t o = 0; o < one.size(); ++o)
    for (std::size_t b = 0; b < 3; ++b)
      EXPECT_TRUE(same_bits(one[o], static_cast<const std::byte*>(batch[o].raw()) + b * one[o].bytes()))
          << "sample " << b << ", output " << o;
}

TEST(StoredAsBf16, AgreesOnFakeKernels) {
  for (unsigned seed = 0; seed < 12; ++seed)
    check_network(seed, testing::fake_target(), Isa::portable, false);
}

TEST(StoredAsBf16, AgreesOnEveryInstructionSet) {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::amx}) {
    if (isa > detected_isa()) continue;
    for (unsigned seed = 0; seed < 16; ++seed) check_network(seed, cpu::target(), isa, true);
  }
}

TEST(StoredAsBf16, AgreesOnEmulatedKernels) {
  if (detected_isa() < Isa::avx2) GTEST_SKIP() << "the emulation takes AVX2";
  for (unsigned seed = 0; seed < 12; ++seed)
    check_network(seed, cpu::emulated_target(), detected_isa(), false);
}

/// Blocks on large maps, one behind the other: as they are on instruction sets that compute nothing with
/// bf16, with nothing converted between them.
TEST(StoredAsBf16, BlocksRunWideWhereThatIsCheaper) {
  if (detected_isa() < Isa::avx2) GTEST_SKIP() << "for the costs of AVX2";
  testing::GraphMaker m;
  using Id = ir::ValueId;
  const auto block = [&](Id x) {
    const Id wide = m.node("Relu", {m.conv(x, 16, 64, 1)});
    return m.node("Add", {x, m.conv(m.node("Relu", {m.conv(wide, 64, 64, 3, 1, 64)}), 64, 16, 1)});
  };
  const Id stem = m.conv(m.input("picture", {1, 3, 96, 90}), 3, 16);
  const Model model = runtime::make_model(lowered(m.finish({m.conv(block(block(block(stem))), 16, 2)})));
  const Plan plan = model.compile(cpu::target(), as_it_is(Isa::avx2));
  std::size_t blocks = 0;
  std::int64_t converted = 0;
  for (const compiler::Step& step : plan.impl().compiled.steps) {
    if (step.kernel->name.starts_with("inverted_residual")) ++blocks;
    if (step.op == "ElementwiseChain") ++converted;
  }
  EXPECT_EQ(blocks, 3u);
  EXPECT_LE(converted, 3);
  const std::vector<Tensor> inputs{picture(model.inputs()[0].shape, 1)};
  expect_close(model.interpret(inputs), plan.make_context({2}).run(inputs));
}

}  // namespace
}  // namespace saccade
