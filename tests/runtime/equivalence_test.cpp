// The planned executor against the reference executor on generated networks.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

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

void check_model(const Model& model, const compiler::Target& target, Isa isa) {
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

void check_network(unsigned seed, const compiler::Target& target, Isa isa) {
  SCOPED_TRACE("network " + std::to_string(seed) + " on " + std::string(target.name()) + ", " +
               isa_name(isa));
  check_model(runtime::make_model(testing::random_network(seed, seed % 2 == 0)), target, isa);
}

// Pictures become tokens of `width` channels, which attend each other in `heads` heads, and a picture again;
// everything written out as exporters do.
class Transformer {
 public:
  using Id = ir::ValueId;
  Transformer(std::int64_t rows, std::int64_t columns, std::int64_t width, std::int64_t heads)
      : rows_(rows), columns_(columns), width_(width), heads_(heads) {}

  ir::Graph make() {
    constexpr std::int64_t kPatch = 4;
    const Id picture = m_.input("x", {1, 3, rows_ * kPatch, columns_ * kPatch});
    const Id patches = m_.node("Conv", {picture, m_.random({width_, 3, kPatch, kPatch}), m_.random({width_})},
                               {{"strides", std::vector<std::int64_t>{kPatch, kPatch}}});
    Id tokens = m_.transpose(m_.reshape(patches, {0, width_, rows_ * columns_}), {0, 2, 1});
    tokens = m_.node("Add", {tokens, attention(norm(tokens))});
    const Id hidden = linear(norm(tokens), width_, 4 * width_);
    const Id erf = m_.node("Erf", {m_.node("Mul", {hidden, m_.scalar(0.70710678f)})});
    const Id gelu =
        m_.node("Mul", {m_.node("Mul", {hidden, m_.node("Add", {erf, m_.scalar(1)})}), m_.scalar(0.5f)});
    tokens = m_.node("Add", {tokens, linear(gelu, 4 * width_, width_)});
    const Id result = m_.reshape(m_.transpose(tokens, {0, 2, 1}), {0, width_, rows_, columns_});
    return m_.finish({m_.conv(result, width_, 5, 1), tokens});
  }

 private:
  Id linear(Id x, std::int64_t in, std::int64_t out) {
    return m_.node("Add", {m_.node("MatMul", {x, m_.random({in, out}, -0.2f, 0.2f)}), m_.random({out})});
  }
  Id norm(Id x) {
    const auto mean = [&](Id of) { return m_.node("ReduceMean", {of, m_.integers({-1})}); };
    const Id apart = m_.node("Sub", {x, mean(x)});
    const Id variance = m_.node("Add", {mean(m_.node("Mul", {apart, apart})), m_.scalar(1e-5f)});
    const Id unit = m_.node("Div", {apart, m_.node("Sqrt", {variance})});
    return m_.node("Add", {m_.node("Mul", {unit, m_.random({width_}, 0.5f, 1.5f)}), m_.random({width_})});
  }
  Id attention(Id x) {
    const std::int64_t size = width_ / heads_;
    const auto apart = [&](Id of) {
      return m_.transpose(m_.reshape(of, {0, rows_ * columns_, heads_, size}), {0, 2, 1, 3});
    };
    const Id q = apart(linear(x, width_, width_)), k = apart(linear(x, width_, width_)),
             v = apart(linear(x, width_, width_));
    const Id scores = m_.node("MatMul", {q, m_.transpose(k, {0, 1, 3, 2})});
    const Id shares =
        m_.node("Softmax", {m_.node("Mul", {scores, m_.scalar(0.3f)})}, {{"axis", std::int64_t{-1}}});
    const Id together = m_.transpose(m_.node("MatMul", {shares, v}), {0, 2, 1, 3});
    return linear(m_.reshape(together, {0, rows_ * columns_, width_}), width_, width_);
  }

  testing::GraphMaker m_;
  std::int64_t rows_, columns_, width_, heads_;
};

TEST(PlannedExecutor, AgreesOnTransformers) {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    if (isa > active_isa()) continue;
    for (const auto& [rows, columns, width, heads] :
         {std::array<std::int64_t, 4>{3, 5, 12, 3}, {1, 7, 16, 1}, {8, 8, 40, 2}, {6, 13, 192, 3}}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + ", " + isa_name(isa));
      check_model(runtime::make_model(Transformer(rows, columns, width, heads).make()), cpu::target(), isa);
    }
  }
}

// Over several dimensions of what a convolution leaves with its channels last, and with scales that vary over
// other dimensions than those of a line.
TEST(PlannedExecutor, AgreesOnLayerNormsOfAllForms) {
  testing::GraphMaker m;
  const auto x = m.conv(m.input("x", {1, 3, 4, 6}), 3, 5);
  const auto norm = [&](ir::ValueId of, const Shape& scale, std::int64_t axis) {
    return m.node("LayerNormalization", {of, m.random(scale, 0.5f, 2.0f), m.random(scale)}, {{"axis", axis}});
  };
  const ir::Graph graph = m.finish({norm(x, {5, 4, 6}, 1), norm(x, {4, 6}, 2), norm(x, {6}, 3),
                                    norm(x, {4, 1}, 3), norm(x, {5, 1, 1}, 3), norm(x, {1, 1, 1, 6}, -1),
                                    norm(x, {1}, -1), norm(m.transpose(x, {0, 2, 3, 1}), {5}, -1)});
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > active_isa()) continue;
    check_model(runtime::make_model(graph), cpu::target(), isa);
  }
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
                           "means_while_written",
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
                           "pointwise_as_matmul",
                           "sum_of_stack",
                           "dynamic_sums",
                           "widen_instance_norm"}) {
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

// Indices come from the model: those that lead nowhere are left out, however far out they are.
TEST(PlannedExecutor, LeavesOutIndicesFarOutside) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  testing::GraphMaker m;
  const auto x = m.input("x", {1, 2, 1, 2}), where = m.input("where", {1, 2, 1, 2}, DType::i64);
  using Numbers = std::vector<std::int64_t>;
  const ir::Attributes windows{{"kernel_shape", Numbers{1, 2}}, {"strides", Numbers{1, 2}}};
  const Model model = runtime::make_model(m.finish({m.node("MaxUnpool", {x, where}, windows)}));
  const std::vector<Tensor> inputs{Tensor::of<float>({1, 2, 1, 2}, {1, 2, 3, 4}),
                                   Tensor::of<std::int64_t>({1, 2, 1, 2}, {2, kMost, kLeast, 5})};
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > active_isa()) continue;
    CompileOptions options;
    options.max_isa = isa;
    const Tensor y = model.compile(cpu::target(), options).make_context().run(inputs)[0];
    const std::vector<float> values(y.values<float>().begin(), y.values<float>().end());
    EXPECT_EQ(values, (std::vector<float>{0, 0, 1, 0, 0, 4, 0, 0})) << isa_name(isa);
  }
}

}  // namespace
}  // namespace saccade
