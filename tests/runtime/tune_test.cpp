// Plans whose kernels were chosen by what they take, with clocks that tests make up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "compiler/graph_maker.h"
#include "compiler/kernel_choice.h"
#include "compiler/random_network.h"
#include "compiler/time_kernel.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "runtime/plan_cache.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;
using compiler::KernelDesc;
using compiler::KernelQuery;
using runtime::PlanCache;

/// Every kernel takes what `price` says; notes what is asked.
struct FakeClock {
  std::function<double(const KernelDesc&)> price;
  std::vector<std::string> asked = {};

  runtime::MeasureKernel measure() {
    return [this](const KernelQuery&, const KernelDesc& kernel, double) -> std::optional<double> {
      asked.emplace_back(kernel.name);
      return price(kernel);
    };
  }
};

bool named(const KernelDesc& kernel, std::string_view part) {
  return kernel.name.find(part) != std::string_view::npos;
}

Plan tuned(const Model& model, FakeClock& clock, std::int64_t batch = 0, Isa isa = active_isa()) {
  CompileOptions options;
  options.tune = true;
  options.batch = batch;
  options.max_isa = isa;
  return Plan(runtime::make_plan(model.impl(), cpu::target(), options, clock.measure()));
}

std::vector<std::string> kernels_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const compiler::Step& step : plan.impl().compiled.steps) names.emplace_back(step.kernel->name);
  return names;
}

std::size_t count(const Plan& plan, std::string_view part) {
  const std::vector<std::string> names = kernels_of(plan);
  return static_cast<std::size_t>(std::count_if(
      names.begin(), names.end(), [&](const std::string& n) { return n.find(part) != std::string::npos; }));
}

// 3x3 convolutions that Winograd and direct kernels are about equally good at.
ir::Graph graph_of_convs(int layers = 3) {
  testing::GraphMaker m;
  auto x = m.input("x", {1, 64, 24, 24});
  for (int i = 0; i < layers; ++i) x = m.node("Relu", {m.conv(x, 64, 64)});
  return m.finish({x});
}

Tensor picture(const Plan& plan) {
  Tensor x(DType::f32, plan.inputs()[0].shape);
  const std::int64_t sample = x.count() / x.dim(0);
  for (std::int64_t i = 0; i < x.count(); ++i)
    x.data<float>()[i] = static_cast<float>(i % sample * 7919 % 1009) / 504.5f - 1;
  return x;
}

TEST(Tune, TakesTheFastestKernel) {
  const Model model = runtime::make_model(graph_of_convs());
  for (const char* const wanted : {"dense", "winograd4"}) {
    const Model fresh = runtime::make_model(graph_of_convs());
    FakeClock clock{[&](const KernelDesc& kernel) { return named(kernel, wanted) ? 1e6 : 2e6; }};
    const Plan plan = tuned(fresh, clock);
    EXPECT_EQ(count(plan, wanted), 3u) << wanted;
    const Tensor x = picture(plan);
    const Tensor want = model.interpret(std::span(&x, 1))[0], got = plan.make_context().run({&x, 1})[0];
    float largest = 0;
    for (const float v : want.values<float>()) largest = std::max(largest, std::abs(v));
    for (std::int64_t i = 0; i < want.count(); ++i)
      ASSERT_NEAR(want.data<float>()[i], got.data<float>()[i], 1e-4f * largest) << wanted << " " << i;
  }
}

// Convolutions of which some are marked as those that may err more: only predictions give such kernels.
TEST(Tune, TakesNoKernelThatErrsMore) {
  for (const bool coarse : {false, true}) {
    const Model model = runtime::make_model(graph_of_convs());
    CompileOptions options;
    options.tune = true;
    if (coarse) options.precision = Precision::bf16;
    options.coarse = coarse;
    const Plan predicted = model.compile(cpu::target(), [&] {
      CompileOptions plain = options;
      plain.tune = false;
      return plain;
    }());
    double most = 0;
    for (const compiler::Step& step : predicted.impl().compiled.steps)
      most = std::max(most, step.kernel->error);
    FakeClock clock{[&](const KernelDesc& kernel) { return 1e7 / kernel.error; }};
    const Plan plan(runtime::make_plan(model.impl(), cpu::target(), options, clock.measure()));
    for (const compiler::Step& step : plan.impl().compiled.steps)
      EXPECT_LE(step.kernel->error, most) << step.kernel->name;
  }
}

TEST(Tune, ALayerThatIsTooLargeToBeTriedIsLeftToPredictions) {
  const Model model = runtime::make_model(graph_of_convs());
  CompileOptions options;
  options.tune = true;
  const runtime::MeasureKernel full = [](const KernelQuery&, const KernelDesc&,
                                         double) -> std::optional<double> {
    throw Error(ErrorCode::limit, "no memory");
  };
  EXPECT_EQ(kernels_of(Plan(runtime::make_plan(model.impl(), cpu::target(), options, full))),
            kernels_of(model.compile(cpu::target(), {})));
  const runtime::MeasureKernel broken = [](const KernelQuery&, const KernelDesc&,
                                           double) -> std::optional<double> {
    throw Error(ErrorCode::internal, "a fault");
  };
  const Model other = runtime::make_model(graph_of_convs());
  EXPECT_THROW(runtime::make_plan(other.impl(), cpu::target(), options, broken), Error);
}

TEST(Tune, KeepsToPredictionsWhereNothingIsClearlyFaster) {
  const Model model = runtime::make_model(graph_of_convs());
  const std::vector<std::string> predicted = kernels_of(model.compile(cpu::target(), {}));
  FakeClock clock{[&](const KernelDesc& kernel) { return kernel.name == predicted[1] ? 1e6 : 0.98e6; }};
  EXPECT_EQ(kernels_of(tuned(model, clock)), predicted);
}

TEST(Tune, AsksOnceForLayersOfOneShape) {
  const Model model = runtime::make_model(graph_of_convs(5));
  FakeClock clock{[](const KernelDesc&) { return 1000.0; }};
  tuned(model, clock);
  std::vector<std::string> names = clock.asked;
  std::sort(names.begin(), names.end());
  // The first reads what the caller hands over, the last writes it.
  for (const std::string& name : names) EXPECT_LE(std::count(names.begin(), names.end(), name), 3) << name;
}

// Only what may run and is predicted to be about as fast: less exact kernels have costs beyond all bounds.
TEST(Tune, TriesWhatDispatchMayChoose) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Model model = runtime::make_model(testing::random_network(seed, false));
    std::size_t asked = 0;
    const runtime::MeasureKernel measure = [&](const KernelQuery& query, const KernelDesc& kernel,
                                               double) -> std::optional<double> {
      ++asked;
      EXPECT_EQ(kernel.can_run(query), nullptr) << kernel.name;
      EXPECT_LE(kernel.isa, active_isa()) << kernel.name;
      double least = INFINITY;
      for (const KernelDesc* other : cpu::target().kernels(active_isa()))
        if (other->op == query.node.op && other->can_run(query) == nullptr)
          least = std::min(least, other->cost(query));
      EXPECT_LE(kernel.cost(query), compiler::KernelTable::kTried * least * 1.0001) << kernel.name;
      EXPECT_LT(kernel.cost(query), 1e14) << kernel.name;
      for (const compiler::TensorDesc& output : query.outputs) EXPECT_EQ(output.dims[0], 1);
      return 1000;
    };
    CompileOptions options;
    options.tune = true;
    options.batch = 3;
    runtime::make_plan(model.impl(), cpu::target(), options, measure);
    EXPECT_GT(asked, 0u);
  }
}

// Times in no order at all: results stay right, and the same for any batch and number of threads.
TEST(Tune, ResultsAgreeWhateverIsMeasured) {
  for (std::size_t i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    if (isa > active_isa()) break;
    for (unsigned seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE("network " + std::to_string(seed) + ", " + isa_name(isa));
      const Model model = runtime::make_model(testing::random_network(seed, seed % 2 == 0));
      unsigned state = seed;
      FakeClock clock{[&](const KernelDesc&) {
        state = state * 1664525u + 1013904223u;
        return 1e5 + state % 10000000;
      }};
      const Plan plan = tuned(model, clock, 0, isa), batch = tuned(model, clock, 4, isa);
      std::vector<Tensor> one_input, many_inputs;
      for (const TensorInfo& info : plan.inputs()) {
        for (std::vector<Tensor>* list : {&one_input, &many_inputs}) {
          Shape shape = info.shape;
          const std::int64_t sample = element_count(shape);
          if (list == &many_inputs) shape[0] *= 4;
          Tensor x(DType::f32, shape);
          for (std::int64_t k = 0; k < x.count(); ++k)
            x.data<float>()[k] = static_cast<float>((k % sample * 7919 + 13) % 1009) / 504.5f - 1.0f;
          list->push_back(x);
        }
      }
      const std::vector<Tensor> want = model.interpret(one_input);
      const std::vector<Tensor> one = plan.make_context().run(one_input);
      const std::vector<Tensor> shared = plan.make_context({3}).run(one_input);
      const std::vector<Tensor> many = batch.make_context({2}).run(many_inputs);
      for (std::size_t o = 0; o < want.size(); ++o) {
        float largest = 1e-6f;
        for (const float v : want[o].values<float>()) largest = std::max(largest, std::abs(v));
        for (std::int64_t k = 0; k < want[o].count(); ++k)
          ASSERT_NEAR(want[o].data<float>()[k], one[o].data<float>()[k], 1e-4f * largest) << k;
        EXPECT_EQ(std::memcmp(one[o].raw(), shared[o].raw(), one[o].bytes()), 0);
        for (std::size_t b = 0; b < 4; ++b)
          EXPECT_EQ(
              std::memcmp(one[o].raw(), static_cast<const std::byte*>(many[o].raw()) + b * one[o].bytes(),
                          one[o].bytes()),
              0)
              << "sample " << b;
      }
    }
  }
}

TEST(Tune, WhatCannotBeMeasuredIsLeftToPredictions) {
  const Model model = runtime::make_model(graph_of_convs());
  int asked = 0;
  const runtime::MeasureKernel never = [&](const KernelQuery&, const KernelDesc&,
                                           double) -> std::optional<double> {
    ++asked;
    return std::nullopt;
  };
  CompileOptions options;
  options.tune = true;
  const Plan plan(runtime::make_plan(model.impl(), cpu::target(), options, never));
  EXPECT_EQ(kernels_of(plan), kernels_of(model.compile(cpu::target(), {})));
  const int first = asked;
  EXPECT_GT(first, 0);
  options.batch = 2;
  runtime::make_plan(model.impl(), cpu::target(), options, never);
  EXPECT_EQ(asked, first) << "another batch would get other kernels";
}

// A block of 1x1, depthwise and 1x1 convolutions, as one kernel or in parts.
TEST(Tune, DecidesOnFusedBlocksToo) {
  if (active_isa() < Isa::avx2) GTEST_SKIP() << "one way to compute blocks only";
  const auto network = [] {
    testing::GraphMaker m;
    auto x = m.input("x", {1, 3, 64, 64});
    x = m.node("Relu", {m.conv(x, 3, 24)});
    auto y = m.node("Relu", {m.conv(x, 24, 72, 1)});
    y = m.node("Relu", {m.conv(y, 72, 72, 3, 1, 72)});
    y = m.conv(y, 72, 24, 1);
    return m.finish({m.node("Add", {x, y})});
  };
  for (const bool whole : {true, false}) {
    const Model model = runtime::make_model(network());
    FakeClock clock{
        [&](const KernelDesc& kernel) { return (kernel.op == "InvertedResidual") == whole ? 100.0 : 1e7; }};
    std::size_t blocks = 0;
    const Plan plan = tuned(model, clock);
    for (const compiler::Step& step : plan.impl().compiled.steps) blocks += step.op == "InvertedResidual";
    EXPECT_EQ(blocks > 0, whole);
  }
}

class TunedCache : public ::testing::Test {
 protected:
  std::shared_ptr<const PlanCache> cache() const {
    return std::make_shared<PlanCache>(scratch_.path() / "plans", std::int64_t{1} << 30, "b1");
  }
  Model model() const { return runtime::make_model(graph_of_convs(), "convs", cache()); }
  std::vector<fs::path> files(std::string_view extension) const {
    std::vector<fs::path> list;
    for (const auto& each : fs::directory_iterator(scratch_.path() / "plans"))
      if (each.path().extension() == extension) list.push_back(each.path());
    return list;
  }

  TemporaryFolder scratch_{"saccade-tune."};
  FakeClock dense_{[](const KernelDesc& kernel) { return named(kernel, "dense") ? 1e6 : 2e6; }};
  FakeClock winograd_{[](const KernelDesc& kernel) { return named(kernel, "dense") ? 2e6 : 1e6; }};
};

TEST_F(TunedCache, TheSecondStartMeasuresNothing) {
  const std::vector<std::string> chosen = kernels_of(tuned(model(), dense_));
  EXPECT_FALSE(dense_.asked.empty());
  EXPECT_EQ(kernels_of(tuned(model(), winograd_)), chosen);
  EXPECT_TRUE(winograd_.asked.empty());
}

TEST_F(TunedCache, NorDoPlansOfOtherBatches) {
  const std::vector<std::string> chosen = kernels_of(tuned(model(), dense_));
  EXPECT_EQ(kernels_of(tuned(model(), winograd_, 4)), chosen);
  for (const fs::path& plan : files(".plan")) fs::remove(plan);
  EXPECT_EQ(kernels_of(tuned(model(), winograd_)), chosen);
  EXPECT_TRUE(winograd_.asked.empty());
}

// A kernel that cannot be timed takes no times from others: avx2's are known, whatever the best one's are.
TEST_F(TunedCache, OneInstructionSetKnowsNothingOfAnother) {
  const std::vector<std::string> chosen = kernels_of(tuned(model(), dense_, 0, Isa::portable));
  FakeClock never{[](const KernelDesc&) { return 1e6; }};
  CompileOptions options;
  options.tune = true;
  runtime::make_plan(model().impl(), cpu::target(), options,
                     [](const KernelQuery&, const KernelDesc&, double) { return std::optional<double>(); });
  for (const fs::path& plan : files(".plan")) fs::remove(plan);
  EXPECT_EQ(kernels_of(tuned(model(), winograd_, 4, Isa::portable)), chosen);
  EXPECT_TRUE(winograd_.asked.empty());
}

// What two processes measure at the same time is all kept.
TEST_F(TunedCache, TimesOfTwoProcessesAreJoined) {
  const Model one = model(), two = model();
  FakeClock clock{[](const KernelDesc&) { return 1e6; }};
  const Model first = runtime::make_model(graph_of_convs(), "convs", cache());
  tuned(first, clock, 0, Isa::portable);
  const std::size_t asked = clock.asked.size();
  ASSERT_GT(asked, 0u);
  if (active_isa() < Isa::avx2) GTEST_SKIP() << "one instruction set only";
  tuned(two, clock);    // reads the portable times, adds its own
  tuned(first, clock);  // has not seen those, measures them again and keeps both
  clock.asked.clear();
  for (const fs::path& plan : files(".plan")) fs::remove(plan);
  tuned(model(), clock, 0, Isa::portable);
  tuned(model(), clock);
  EXPECT_TRUE(clock.asked.empty());
}

TEST_F(TunedCache, PlansThatWereNotTunedAreOthers) {
  const std::vector<std::string> plain = kernels_of(model().compile(cpu::target(), {}));
  FakeClock others{[&](const KernelDesc& kernel) { return kernel.name == plain[1] ? 2e6 : 1e6; }};
  EXPECT_NE(kernels_of(tuned(model(), others)), plain);
  EXPECT_FALSE(others.asked.empty());
  EXPECT_EQ(kernels_of(model().compile(cpu::target(), {})), plain);
}

TEST_F(TunedCache, DamagedTimesAreMeasuredAnew) {
  tuned(model(), dense_);
  ASSERT_EQ(files(".tuning").size(), 1u);
  for (const fs::path& plan : files(".plan")) fs::remove(plan);
  const fs::path times = files(".tuning")[0];
  std::fstream file(times, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(fs::file_size(times) / 2));
  file.put('\x7f').put('\x7e');
  file.close();
  const Plan plan = tuned(model(), winograd_);
  EXPECT_FALSE(winograd_.asked.empty());
  EXPECT_EQ(count(plan, "dense"), 0u);
}

// The real clock: any time will do, and no kernel may step outside of what it gets.
TEST(TimeKernel, TakesSomeTime) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const Model model = runtime::make_model(testing::random_network(seed, true));
    std::size_t measured = 0;
    const runtime::MeasureKernel measure = [&](const KernelQuery& query, const KernelDesc& kernel,
                                               double rival) -> std::optional<double> {
      const std::optional<double> ns = compiler::time_kernel(query, kernel, rival);
      EXPECT_TRUE(ns && *ns > 0) << kernel.name;
      ++measured;
      return ns;
    };
    CompileOptions options;
    options.tune = true;
    runtime::make_plan(model.impl(), cpu::target(), options, measure);
    EXPECT_GT(measured, 0u);
  }
}

}  // namespace
}  // namespace saccade
