#include "quantise/calibrate.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cpu/target.h"
#include "interpret/interpreter.h"
#include "networks.h"
#include "quantise/selection.h"
#include "runtime/context.h"
#include "runtime/plan.h"
#include "saccade/error.h"

namespace saccade::quantise {
namespace {

const Shape kUNet{1, 3, 24, 32}, kMobile{1, 3, 32, 32};

Machine machine() { return {&cpu::target(), active_isa(), 2}; }

ir::Graph prepared(const ir::Graph& graph) { return prepare(graph, {*graph.value(graph.inputs[0]).shape}); }

std::shared_ptr<const runtime::PlanImpl> plan(const ir::Graph& graph, Isa isa,
                                              std::vector<std::string> disabled = {}) {
  compiler::Options options;
  options.disabled_passes = std::move(disabled);
  options.isa = isa;
  options.input_shapes = {*graph.value(graph.inputs[0]).shape};
  return runtime::plan_graph(graph, cpu::target(), options);
}

std::size_t byte_convolutions(const runtime::PlanImpl& plan) {
  std::size_t n = 0;
  for (const compiler::Step& step : plan.compiled.steps) n += step.op == "QLinearConv" ? 1 : 0;
  return n;
}

TEST(Calibrate, ChosenConvolutionsRunOnKernelsOfBytes) {
  for (const auto& [graph, shape] :
       {std::pair(testing::small_unet(), kUNet), {testing::small_mobile(), kMobile}}) {
    const ir::Graph ready = prepared(graph);
    const Calibration result = calibrate(ready, testing::smooth_samples(shape, 4), machine());
    const auto made = plan(result.quantised, active_isa());
    EXPECT_EQ(byte_convolutions(*made), layers(ready).size());
    for (const compiler::Step& step : made->compiled.steps)
      EXPECT_FALSE(step.kernel->reference) << step.name << " runs on " << step.kernel->name;
    // Steps keep the names of layers, by which times are compared.
    for (const std::string& name : layers(ready))
      EXPECT_TRUE(std::any_of(made->compiled.steps.begin(), made->compiled.steps.end(),
                              [&](const compiler::Step& step) { return step.name == name; }))
          << name;
  }
}

TEST(Calibrate, ResultsStayNear) {
  for (const auto& [graph, shape] :
       {std::pair(testing::small_unet(), kUNet), {testing::small_mobile(), kMobile}}) {
    const ir::Graph ready = prepared(graph);
    const Calibration result = calibrate(ready, testing::smooth_samples(shape, 6), machine());
    EXPECT_LT(result.relative_error, 2e-3);
    // On pictures that it has not seen.
    const std::vector<Sample> fresh = testing::smooth_samples(shape, 3, 100);
    EXPECT_LT(relative_error(run_all(result.quantised, fresh, machine()), run_all(ready, fresh, machine())),
              5e-3);
  }
}

TEST(Calibrate, QuantisedGraphsGiveTheBytesOfTheSameGraphInFloats) {
  const Calibration result =
      calibrate(prepared(testing::small_unet()), testing::smooth_samples(kUNet, 2), machine());
  const Sample sample = testing::smooth_samples(kUNet, 1, 50)[0];
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni}) {
    if (isa > active_isa()) continue;
    const auto bytes = plan(result.quantised, isa);
    const auto floats = plan(result.quantised, isa, {"keep_bytes", "fuse_quantised_conv", "open_quantised"});
    EXPECT_GT(byte_convolutions(*bytes), 0u);
    EXPECT_EQ(byte_convolutions(*floats), 0u);
    const std::vector<Sample> a{runtime::ContextImpl(bytes, 2).run(sample)},
        b{runtime::ContextImpl(floats, 2).run(sample)};
    // Every byte is the same: one that differs would be seen a thousand million times as clearly. The head is
    // of floats; whether its filters or its picture are multiplied by the scale moves its last bits.
    EXPECT_LT(relative_error(a, b), 1e-12) << isa_name(isa);
  }
}

TEST(Calibrate, QuantisedGraphsAgreeWithTheReferenceExecutor) {
  // Which multiplies real numbers: a sum within a rounding error of the middle of two steps may go the other
  // way, and a step is some thousandths of what it is part of.
  for (const auto& [graph, shape] :
       {std::pair(testing::small_unet(), kUNet), {testing::small_mobile(), kMobile}}) {
    const Calibration result = calibrate(prepared(graph), testing::smooth_samples(shape, 2), machine());
    const std::vector<Sample> samples = testing::smooth_samples(shape, 1, 50);
    const std::vector<Sample> want{interpret::run(result.quantised, samples[0])};
    EXPECT_LT(relative_error(run_all(result.quantised, samples, machine()), want), 2e-4);
  }
}

TEST(Calibrate, RecipesAreReadBackAndRepeatTheNetwork) {
  const ir::Graph ready = prepared(testing::small_unet());
  CalibrationOptions options;
  options.equalise = true;
  options.fp32_layers = {layers(ready)[1]};
  const Calibration result = calibrate(ready, testing::smooth_samples(kUNet, 2), machine(), options);
  EXPECT_TRUE(result.equalised);
  ArchiveWriter out;
  write_recipe(out, result.recipe);
  ArchiveReader in(out.bytes());
  const ir::Graph again = apply(ready, read_recipe(in));
  EXPECT_EQ(in.left(), 0u);
  const std::vector<Sample> samples = testing::smooth_samples(kUNet, 1, 9);
  const Tensor a = run_all(result.quantised, samples, machine())[0][0],
               b = run_all(again, samples, machine())[0][0];
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0);
  // Any part of it is an error, not a crash; and so is a recipe for another network.
  for (std::size_t size = 0; size < out.bytes().size(); size += 7) {
    ArchiveReader part(std::span(out.bytes()).first(size));
    EXPECT_THROW(read_recipe(part), Error);
  }
  EXPECT_THROW(apply(prepared(testing::small_mobile()), result.recipe), Error);
}

TEST(Calibrate, OutputsKeepTheirNames) {
  testing::ConvMaker m;
  const auto x = m.input("x", {1, 8, 9, 9});
  const auto feature = m.relu(m.fair_conv(x, 8, 8));
  ir::Graph graph = m.finish({m.fair_conv(feature, 8, 8), feature});
  graph.value(graph.outputs[0]).name = "mask";
  graph.value(graph.outputs[1]).name = "feature";
  const Calibration result = calibrate(prepared(graph), testing::smooth_samples({1, 8, 9, 9}, 1), machine());
  const auto made = plan(result.quantised, active_isa());
  ASSERT_EQ(made->outputs.size(), 2u);
  EXPECT_EQ(made->outputs[0].name, "mask");
  EXPECT_EQ(made->outputs[1].name, "feature");
  EXPECT_EQ(byte_convolutions(*made), 1u);
}

TEST(Calibrate, LayersLeftInSinglePrecisionMakeItBetter) {
  const ir::Graph ready = prepared(testing::small_mobile());
  const std::vector<Sample> samples = testing::smooth_samples(kMobile, 3);
  const double all = calibrate(ready, samples, machine()).relative_error;
  CalibrationOptions options;
  options.fp32_layers = layers(ready);
  options.fp32_layers.pop_back();
  const Calibration one = calibrate(ready, samples, machine(), options);
  EXPECT_LT(one.relative_error, all);
  EXPECT_EQ(byte_convolutions(*plan(one.quantised, active_isa())), 1u);
}

TEST(Calibrate, TheBestEstimatorOfEachTensorIsNoWorseThanAnyForAll) {
  const ir::Graph ready = prepared(testing::small_unet());
  const std::vector<Sample> samples = testing::smooth_samples(kUNet, 4);
  CalibrationOptions options;
  options.equalise = false;
  const double chosen = calibrate(ready, samples, machine(), options).relative_error;
  for (const Estimator e : kEstimators) {
    options.estimator = e;
    EXPECT_LT(chosen, 1.5 * calibrate(ready, samples, machine(), options).relative_error)
        << estimator_name(e);
  }
}

TEST(Calibrate, SaysWhatCannotBeQuantised) {
  const ir::Graph ready = prepared(testing::small_unet());
  EXPECT_THROW(calibrate(ready, {}, machine()), Error);
  CalibrationOptions options;
  options.fp32_layers = layers(ready);
  EXPECT_THROW(calibrate(ready, testing::smooth_samples(kUNet, 1), machine(), options), Error);
}

}  // namespace
}  // namespace saccade::quantise
