// The planned executor against the reference executor on generated networks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/fake_target.h"
#include "compiler/random_network.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"

namespace saccade {
namespace {

constexpr unsigned kNetworks = 24;

std::vector<Tensor> inputs_of(const Model& model, std::int64_t batch) {
  std::vector<Tensor> tensors;
  for (const TensorInfo& info : model.inputs()) {
    Shape shape = info.shape;
    const std::int64_t sample = element_count(shape);
    shape[0] *= batch;
    Tensor tensor(info.dtype, shape);
    // Every sample is the same picture, so that every result must be too.
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      tensor.data<float>()[i] = static_cast<float>((i % sample * 7919 + 13) % 1009) / 504.5f - 1.0f;
    tensors.push_back(tensor);
  }
  return tensors;
}

void expect_close(const std::vector<Tensor>& want, const std::vector<Tensor>& got) {
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(want[o].shape(), got[o].shape());
    float largest = 1e-6f;
    for (const float v : want[o].values<float>()) largest = std::max(largest, std::abs(v));
    for (std::int64_t i = 0; i < want[o].count(); ++i)
      ASSERT_NEAR(want[o].data<float>()[i], got[o].data<float>()[i], 1e-4f * largest)
          << "output " << o << ", element " << i;
  }
}

bool same_bytes(const Tensor& a, const void* b) { return std::memcmp(a.raw(), b, a.bytes()) == 0; }

void check_network(unsigned seed, const compiler::Target& target, Isa isa) {
  SCOPED_TRACE("network " + std::to_string(seed) + " on " + std::string(target.name()) + ", " +
               isa_name(isa));
  const Model model = runtime::make_model(testing::random_network(seed, seed % 2 == 0));
  const std::vector<Tensor> inputs = inputs_of(model, 1);
  CompileOptions options;
  options.max_isa = isa;
  const Plan plan = model.compile(target, options);
  const std::vector<Tensor> one = plan.make_context().run(inputs);
  expect_close(model.interpret(inputs), one);
  for (const int threads : {2, 3}) {
    Context context = plan.make_context({threads});
    for (int run = 0; run < 2; ++run) {
      const std::vector<Tensor> many = context.run(inputs);
      for (std::size_t o = 0; o < one.size(); ++o)
        EXPECT_TRUE(same_bytes(one[o], many[o].raw())) << threads << " threads, output " << o;
    }
  }
  options.batch = 4;
  const std::vector<Tensor> batch = model.compile(target, options).make_context({2}).run(inputs_of(model, 4));
  for (std::size_t o = 0; o < one.size(); ++o)
    for (std::size_t b = 0; b < 4; ++b)
      EXPECT_TRUE(same_bytes(one[o], static_cast<const std::byte*>(batch[o].raw()) + b * one[o].bytes()))
          << "sample " << b << ", output " << o;
}

TEST(PlannedExecutor, AgreesOnFakeKernels) {
  for (unsigned seed = 0; seed < kNetworks; ++seed)
    check_network(seed, testing::fake_target(), Isa::portable);
}

TEST(PlannedExecutor, AgreesOnModestKernels) {
  for (unsigned seed = 0; seed < kNetworks; seed += 3)
    check_network(seed, testing::modest_target(), Isa::portable);
}

TEST(PlannedExecutor, AgreesWithoutKernels) {
  for (unsigned seed = 0; seed < kNetworks; seed += 3)
    check_network(seed, testing::empty_target(), Isa::portable);
}

TEST(PlannedExecutor, AgreesOnEachInstructionSetOfThisMachine) {
  for (const Isa isa :
       {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx}) {
    if (isa > active_isa()) continue;
    for (unsigned seed = 0; seed < kNetworks; ++seed) check_network(seed, cpu::target(), isa);
  }
}

TEST(PlannedExecutor, AgreesWithEachPassLeftOut) {
  for (const char* pass : {"eliminate_transposes",
                           "fold_pad",
                           "fold_batch_norm",
                           "recognise_activations",
                           "pointwise_before_resize",
                           "fuse_resize_arg_max",
                           "simplify_means",
                           "fuse_residual",
                           "fuse_activation",
                           "common_subexpressions",
                           "fuse_elementwise",
                           "fuse_inverted_residual",
                           "fold_gates",
                           "fuse_residual_last",
                           "merge_pointwise",
                           "pooled_branch_as_bias",
                           "linear_as_conv",
                           "regroup_transposes",
                           "recognise_norms",
                           "fuse_attention",
                           "einsum_as_matmul",
                           "widen_half",
                           "lines_as_pictures",
                           "pointwise_as_matmul"}) {
    for (const unsigned seed : {4u, 7u}) {
      SCOPED_TRACE(pass);
      const Model model = runtime::make_model(testing::random_network(seed, seed % 2 == 0));
      CompileOptions options;
      options.disabled_passes = {pass};
      const std::vector<Tensor> inputs = inputs_of(model, 1);
      expect_close(model.interpret(inputs), model.compile(cpu::target(), options).make_context().run(inputs));
    }
  }
}

}  // namespace
}  // namespace saccade
