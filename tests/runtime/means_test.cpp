// Means that are taken while their source is written.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/temporary_folder.h"
#include "compiler/graph_maker.h"
#include "cpu/emulated_target.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "runtime/plan_cache.h"

namespace saccade {
namespace {

using testing::GraphMaker;
using Id = ir::ValueId;

struct Sizes {
  std::int64_t height, width, channels, expanded;
};

// A mean of what each kind of layer makes; the map of the first is read once more at the end.
ir::Graph network(const Sizes& s, std::int64_t batch) {
  GraphMaker m;
  const auto mean = [&](Id x) {
    return m.node("ReduceMean", {x, m.integers({2, 3})}, {{"keepdims", std::int64_t{1}}});
  };
  const auto gate = [&](Id x) { return m.node("Sigmoid", {mean(x)}); };
  const Id dense = m.node("Relu", {m.conv(m.input("x", {batch, 3, s.height, s.width}), 3, s.channels, 3, 1)});
  const Id block = m.node("HardSwish", {m.conv(m.node("Relu", {m.conv(dense, s.channels, s.expanded, 1)}),
                                               s.expanded, s.expanded, 5, 2, s.expanded)});
  const Id narrow = m.conv(m.node("Mul", {block, gate(block)}), s.expanded, 24, 1);
  const Id apart =
      m.node("Relu", {m.conv(m.node("MaxPool", {narrow}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}),
                             24, 24, 3, 1, 24)});
  return m.finish({mean(dense), gate(block), mean(narrow), m.node("GlobalAveragePool", {apart}),
                   m.node("Mul", {dense, gate(dense)})});
}

std::vector<Tensor> pictures(const Model& model) {
  Tensor tensor(DType::f32, model.inputs()[0].shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = static_cast<float>((i * 7919 + 13) % 1009) / 504.5f - 1.0f;
  return {tensor};
}

std::size_t followers(const Plan& plan) {
  std::size_t count = 0;
  for (const runtime::Phase& phase : plan.impl().phases) count += phase.followers.size();
  return count;
}

void expect_near(const Tensor& got, const Tensor& want, float tolerance) {
  ASSERT_EQ(got.shape(), want.shape());
  for (std::int64_t i = 0; i < want.count(); ++i)
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], tolerance) << i;
}

void check(const compiler::Target& target, Isa isa, const Sizes& sizes) {
  SCOPED_TRACE(std::string(target.name()) + " " + isa_name(isa) + " " + std::to_string(sizes.height) + "x" +
               std::to_string(sizes.width));
  CompileOptions options;
  options.max_isa = isa;
  const Model one = runtime::make_model(network(sizes, 1)), three = runtime::make_model(network(sizes, 3));
  const std::vector<Tensor> batch = pictures(three);
  const Plan plan = three.compile(target, options);
  EXPECT_GE(followers(plan), 3u);
  const std::vector<Tensor> got = plan.make_context().run(batch);
  for (const int threads : {2, 3}) {
    const std::vector<Tensor> again = plan.make_context({threads}).run(batch);
    for (std::size_t o = 0; o < got.size(); ++o)
      EXPECT_EQ(std::memcmp(got[o].raw(), again[o].raw(), got[o].bytes()), 0) << "output " << o;
  }
  options.disabled_passes = {"means_while_written"};
  const Plan apart = three.compile(target, options);
  EXPECT_EQ(followers(apart), 0u);
  const std::vector<Tensor> want = apart.make_context().run(batch);
  for (std::size_t o = 0; o < got.size(); ++o) expect_near(got[o], want[o], 2e-5f);
  options.disabled_passes.clear();
  Context context = one.compile(target, options).make_context();
  for (std::int64_t n = 0; n < 3; ++n) {
    Tensor picture(DType::f32, one.inputs()[0].shape);
    std::memcpy(picture.raw(), batch[0].data<float>() + n * picture.count(), picture.bytes());
    const std::vector<Tensor> alone = context.run(std::vector<Tensor>{picture});
    for (std::size_t o = 0; o < got.size(); ++o)
      EXPECT_EQ(std::memcmp(got[o].data<float>() + n * alone[o].count(), alone[o].raw(), alone[o].bytes()), 0)
          << "output " << o << " of picture " << n;
  }
}

TEST(MeansWhileWritten, SameBitsWhateverTheThreadsAndTheBatch) {
  for (const Sizes& sizes : {Sizes{64, 48, 16, 64}, Sizes{37, 51, 20, 72}, Sizes{16, 16, 32, 128}}) {
    for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
      if (isa <= active_isa()) check(cpu::target(), isa, sizes);
    if (active_isa() >= Isa::avx2) check(cpu::emulated_target(), Isa::avx2, sizes);
  }
}

TEST(MeansWhileWritten, PlansFromTheCacheFollowToo) {
  const TemporaryFolder folder{"saccade-means."};
  const auto cache =
      std::make_shared<runtime::PlanCache>(folder.path() / "plans", std::int64_t{1} << 30, "b1");
  const ir::Graph graph = network({64, 48, 16, 64}, 2);
  std::vector<std::vector<Tensor>> results;
  for (int turn = 0; turn < 2; ++turn) {
    const Model model = runtime::make_model(graph, "network", cache);
    const Plan plan = model.compile(cpu::target(), {});
    EXPECT_GE(followers(plan), 3u) << turn;
    results.push_back(plan.make_context({2}).run(pictures(model)));
    EXPECT_FALSE(std::filesystem::is_empty(folder.path() / "plans")) << turn;
  }
  for (std::size_t o = 0; o < results[0].size(); ++o)
    EXPECT_EQ(std::memcmp(results[0][o].raw(), results[1][o].raw(), results[0][o].bytes()), 0) << o;
}

}  // namespace
}  // namespace saccade
