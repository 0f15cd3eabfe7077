#include "quantise/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cpu/target.h"
#include "networks.h"
#include "quantise/calibrate.h"
#include "quantise/mix.h"
#include "quantise/selection.h"
#include "quantise/sensitivity.h"
#include "quantise/variants.h"
#include "runtime/context.h"
#include "runtime/plan.h"
#include "saccade/error.h"

namespace saccade::quantise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

Machine machine() { return {&cpu::target(), active_isa(), 2}; }

const Shape kPicture{1, 8, 24, 24};

/// A tensor between two convolutions in which one channel is a thousand times as large as what matters: bytes
/// of one scale lose it. A Clip keeps equalisation away.
ir::Graph with_sensitive_layer() {
  testing::ConvMaker m;
  auto x = m.input("picture", kPicture);
  for (int i = 0; i < 3; ++i) x = m.relu(m.fair_conv(x, 8, 8));
  std::vector<float> large(8 * 8, 0.0f), back(8 * 8, 0.0f);
  for (std::size_t c = 0; c < 8; ++c) {
    large[c * 8 + c] = c == 0 ? 1000.0f : 1.0f;
    back[c * 8 + c] = c == 0 ? 0.001f : 1.0f;
  }
  x = m.node("Conv", {x, m.floats({8, 8, 1, 1}, large)}, {});
  x = m.node("Clip", {x, m.scalar(0), m.scalar(1e6f)});
  x = m.node("Conv", {x, m.floats({8, 8, 1, 1}, back)}, {});
  for (int i = 0; i < 2; ++i) x = m.relu(m.fair_conv(x, 8, 8));
  return m.finish({m.fair_conv(x, 8, 3, 1)});
}

struct Sensitive {
  ir::Graph graph = with_sensitive_layer();
  ir::Graph ready = prepare(graph, {kPicture});
  std::vector<Sample> samples = testing::smooth_samples(kPicture, 4);
  Names names = layers(ready);
  LabelRule rule{.kind = LabelRule::Kind::classes};
  std::vector<Sample> expected = run_all(ready, samples, machine());
  Recipe whole = calibrate(ready, samples, machine()).recipe;

  Names others(const std::string& name) const {
    Names result;
    for (const std::string& each : names)
      if (each != name) result.push_back(each);
    return result;
  }
  double change(const Names& fp32_layers) const {
    const std::optional<Recipe> part = part_of(ready, whole, fp32_layers);
    EXPECT_TRUE(part);
    const std::vector<Sample> results = run_all(apply(ready, *part), samples, machine());
    double sum = 0;
    for (std::size_t s = 0; s < samples.size(); ++s)
      sum += changed_share(labels_of(results[s][0], rule), labels_of(expected[s][0], rule));
    return sum / static_cast<double>(samples.size());
  }
};

Question question(const Sensitive& s, Precision asked) {
  Question q;
  q.asked = asked;
  q.rule = s.rule;
  q.calibration = s.samples;
  q.measured = testing::smooth_samples(kPicture, 2, 77);
  q.machine = machine();
  return q;
}

/// 3x3 convolutions of as many channels as the picture has, and three classes in the end.
ir::Graph row_of_convs(const Shape& picture, int count) {
  testing::ConvMaker m;
  const std::int64_t channels = picture[1];
  auto x = m.input("picture", picture);
  for (int i = 0; i < count; ++i) x = m.relu(m.fair_conv(x, channels, channels));
  return m.finish({m.fair_conv(x, channels, 3, 1)});
}

TEST(Decide, TheBudgetLoopFindsThePlantedLayers) {
  const Sensitive s;
  ASSERT_EQ(s.names.size(), 7u);
  const Question q = question(s, Precision::automatic);
  const std::vector<Shape> shapes{kPicture};
  Variants variants(s.graph, shapes, q);
  variants.allow_bytes();
  variants.calibrate();
  const Variant exact = *variants.make(variants.all(Level::fp32));
  Sensitivity sensitivity(variants, q, q.measured, exact);
  std::vector<LayerWays> layers;
  std::vector<std::size_t> places;  // of s.names
  for (const std::string& name : s.names)
    for (std::size_t i = 0; i < variants.names().size(); ++i)
      if (variants.names()[i] == name) {
        places.push_back(i);
        layers.push_back({name, {{2, 0}, {1, sensitivity.error(i, Level::int8)}}});
      }
  ASSERT_EQ(layers.size(), 7u);
  const std::vector<Retreat> steps = retreats(layers);
  EXPECT_THAT((std::vector<std::size_t>{steps[0].layer, steps[1].layer}),
              ::testing::UnorderedElementsAre(3, 4));
  const double all = s.change({}), without = s.change({s.names[3], s.names[4]});
  ASSERT_LT(without, 0.5 * all);
  const double budget = (without + all) / 2;
  const auto single = [&](const Mix& mix) {
    Names names;
    for (std::size_t i = 0; i < mix.size(); ++i)
      if (mix[i] == 0) names.push_back(layers[i].name);
    return names;
  };
  const auto found = find_mix(
      layers, [&](const Mix& mix) { return s.change(single(mix)) <= budget; }, 20);
  ASSERT_TRUE(found);
  EXPECT_LE(single(found->mix).size(), 2u);
  EXPECT_LE(s.change(single(found->mix)), budget);
}

TEST(Decide, PartsOfARecipeAreThoseOfACalibration) {
  const Sensitive s;
  const Names single{s.names[1], s.names[4]};
  CalibrationOptions options;
  options.fp32_layers = single;
  options.equalise = !s.whole.equalisations.empty();
  const Recipe part = *part_of(s.ready, s.whole, single),
               anew = calibrate(s.ready, s.samples, machine(), options).recipe;
  EXPECT_EQ(part.fp32_layers, anew.fp32_layers);
  EXPECT_EQ(part.grids.size(), anew.grids.size());
  EXPECT_EQ(part.corrections.size(), anew.corrections.size());
}

TEST(Decide, PartsRoundWhatWasMovedAsTheWholeDid) {
  testing::ConvMaker m;
  auto x = m.relu(m.fair_conv(m.input("picture", kPicture), 8, 8));
  x = m.node(
      "MaxPool", {x},
      {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}});
  x = m.relu(m.fair_conv(x, 8, 8));
  const ir::Graph graph = m.finish({m.fair_conv(x, 8, 3, 1)}), ready = prepare(graph, {kPicture});
  const std::vector<Sample> samples = testing::smooth_samples(kPicture, 2);
  const Recipe whole = calibrate(ready, samples, machine()).recipe;
  const Names names = layers(ready);
  ASSERT_EQ(names.size(), 2u);
  const std::optional<Recipe> part = part_of(ready, whole, {names[0]});  // the pool is of floats now
  ASSERT_TRUE(part);
  const double error =
      relative_error(run_all(apply(ready, *part), samples, machine()), run_all(ready, samples, machine()));
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 1e-3);
}

TEST(Decide, BytesAsAskedSayWhatTheyChange) {
  const Sensitive s;
  const Decision decision = decide(s.graph, {kPicture}, question(s, Precision::int8));
  EXPECT_EQ(decision.precision, Precision::int8);
  EXPECT_EQ(decision.report.used, Precision::int8);
  EXPECT_EQ(decision.report.layers, 7);
  EXPECT_EQ(decision.report.lowered, 7);
  EXPECT_EQ(decision.report.measured_pictures, 2);
  EXPECT_GT(decision.report.mask_change, 0);
  EXPECT_LT(decision.report.mask_change, 1);
}

TEST(Decide, WhatIsNotFasterIsNotUsed) {
  const Sensitive s;
  Question q = question(s, Precision::automatic);
  q.budget.mask_change = 1;
  std::int64_t ticks = 0;
  q.clock = [&] { return std::chrono::nanoseconds(ticks += 1000000); };  // everything takes as long
  const Decision decision = decide(s.graph, {kPicture}, q);
  EXPECT_EQ(decision.precision, Precision::fp32);
  EXPECT_EQ(decision.report.lowered, 0);
  EXPECT_EQ(decision.report.mask_change, 0);
  EXPECT_GE(decision.report.candidates.size(), 2u);
}

TEST(Decide, CoarseLayersAreThoseThatTheBudgetBears) {
  if (active_isa() < Isa::avx512_bf16) GTEST_SKIP() << "no products of bfloat16 here";
  const Shape picture{1, 64, 64, 64};
  const ir::Graph graph = row_of_convs(picture, 4);
  Question q;
  q.asked = Precision::automatic;
  q.rule.kind = LabelRule::Kind::classes;
  q.calibration = testing::smooth_samples(picture, 2);
  q.machine = machine();
  q.budget.mask_change = 1;
  const Decision free = decide(graph, {picture}, q);
  std::string seen;
  for (const PrecisionReport::Candidate& c : free.report.candidates)
    seen +=
        std::string(precision_name(c.precision)) + " " + std::to_string(c.coarse) + " " + c.verdict + "; ";
  EXPECT_THAT(free.report.candidates,
              Contains(::testing::Field(&PrecisionReport::Candidate::coarse, ::testing::Gt(0))))
      << seen;
  EXPECT_EQ(free.report.coarse > 0, free.coarse) << seen;
  q.budget.mask_change = 0;
  const Decision none = decide(graph, {picture}, q);
  EXPECT_FALSE(none.coarse && none.report.mask_change > 0);
  // Both are read back.
  for (const Decision& decision : {free, none}) {
    ArchiveWriter out;
    write_decision(out, decision);
    ArchiveReader in(out.bytes());
    const Decision again = read_decision(in);
    EXPECT_EQ(in.left(), 0u);
    EXPECT_EQ(again.coarse, decision.coarse);
    EXPECT_EQ(again.exact_layers, decision.exact_layers);
    EXPECT_EQ(again.report.coarse, decision.report.coarse);
    EXPECT_EQ(again.report.exact_layers, decision.report.exact_layers);
  }
}

TEST(Decide, NetworksWithoutKernelsOfBytesStayAsTheyAre) {
  testing::GraphMaker m;
  const auto x = m.input("x", {1, 3, 8, 8});
  const ir::Graph graph = m.finish({m.conv(x, 3, 2)});
  Question q;
  q.calibration = testing::smooth_samples({1, 3, 8, 8}, 1);
  q.machine = machine();
  q.rule.kind = LabelRule::Kind::classes;
  EXPECT_EQ(decide(graph, {{1, 3, 8, 8}}, q).precision, Precision::fp32);
  q.asked = Precision::int8;
  EXPECT_THROW(decide(graph, {{1, 3, 8, 8}}, q), Error);
  q.calibration.clear();
  EXPECT_THROW(decide(graph, {{1, 3, 8, 8}}, q), Error);
}

/// Masks of a decision, made anew, beside those of the network itself.
double change_by(const Decision& decision, const ir::Graph& graph, const Shape& picture, const Question& q) {
  compiler::Options options;
  options.isa = q.machine.isa;
  options.input_shapes = {picture};
  const auto exact = runtime::plan_graph(graph, *q.machine.target, options);
  const bool bytes = decision.precision == Precision::int8;
  options.precision = bytes ? decision.rest : decision.precision;
  options.fp32_layers = decision.fp32_layers;
  options.coarse = decision.coarse;
  options.exact_layers = decision.exact_layers;
  const auto chosen = runtime::plan_graph(bytes ? apply(prepare(graph, {picture}), decision.recipe) : graph,
                                          *q.machine.target, options);
  runtime::ContextImpl a(exact, 1), b(chosen, 1);
  double sum = 0;
  for (const Sample& sample : q.measured)
    sum += changed_share(labels_of(a.run(sample)[0], q.rule), labels_of(b.run(sample)[0], q.rule));
  return sum / static_cast<double>(q.measured.size());
}

TEST(Decide, WhatIsReportedIsTrueAndWithinTheBudget) {
  const Shape picture{1, 32, 64, 64};
  const ir::Graph graph = row_of_convs(picture, 4);
  Question q;
  q.rule.kind = LabelRule::Kind::classes;
  q.calibration = testing::smooth_samples(picture, 2);
  q.measured = testing::smooth_samples(picture, 3, 5);
  q.machine = machine();
  for (const double budget : {0.0, 0.002, 0.01, 1.0}) {
    q.budget.mask_change = budget;
    const Decision decision = decide(graph, {picture}, q);
    EXPECT_LE(decision.report.mask_change, budget);
    EXPECT_DOUBLE_EQ(change_by(decision, graph, picture, q), decision.report.mask_change) << budget;
  }
}

TEST(Variants, BeforeCalibrationRunTheKernelsOfAfterwards) {
  const Sensitive s;
  const Question q = question(s, Precision::automatic);
  const std::vector<Shape> shapes{kPicture};
  Variants variants(s.graph, shapes, q);
  variants.allow_bytes();
  Levels part = variants.all(Level::int8);
  part[2] = Level::fp32;
  const auto kernels = [&](const Levels& levels) {
    Names names;
    const Variant variant = *variants.make(levels);
    for (const compiler::Step& step : variant.plan->compiled.steps)
      names.push_back(step.name + " " + (step.kernel == nullptr ? "" : std::string(step.kernel->name)));
    return names;
  };
  const std::vector<Names> before{kernels(variants.all(Level::int8)), kernels(part)};
  variants.calibrate();
  EXPECT_EQ((std::vector<Names>{kernels(variants.all(Level::int8)), kernels(part)}), before);
}

TEST(Variants, MixAllLevels) {
  const bool halves = active_isa() >= Isa::avx512_bf16;  // else bf16 is storage, and nothing coarse
  const Shape picture{1, 64, 64, 64};
  const ir::Graph graph = row_of_convs(picture, 5);
  Question q;
  q.rule.kind = LabelRule::Kind::classes;
  q.calibration = testing::smooth_samples(picture, 2);
  q.machine = machine();
  const std::vector<Shape> shapes{picture};
  Variants variants(graph, shapes, q);
  variants.allow_bytes();
  variants.calibrate();
  variants.allow_halves();
  ASSERT_EQ(variants.names().size(), 6u);
  EXPECT_EQ(variants.count(Level::int8), 5);
  EXPECT_EQ(variants.count(Level::bf16), 6);
  EXPECT_EQ(variants.allows(Level::coarse), halves);
  const Level coarse = variants.allows(2, Level::coarse) ? Level::coarse : Level::bf16;
  const Levels levels{Level::int8, Level::int8, coarse, Level::bf16, Level::fp32, Level::fp32};
  const std::optional<Variant> mixed = variants.make(levels);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->precision, Precision::int8);
  EXPECT_EQ(mixed->rest, Precision::bf16);
  EXPECT_EQ(mixed->count(Level::int8), 2);
  const Variant exact = *variants.make(variants.all(Level::fp32));
  runtime::ContextImpl a(exact.plan, 1), b(mixed->plan, 1);
  const double error = relative_error(std::vector<Sample>{b.run(q.calibration[0])},
                                      std::vector<Sample>{a.run(q.calibration[0])});
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 1e-3);
}

TEST(Decide, LabelsAreCompared) {
  const Sensitive s;
  Question q = question(s, Precision::int8);
  const std::vector<Sample> exact = run_all(s.ready, q.measured, machine());
  for (const Sample& results : exact) q.truth.push_back(labels_of(results[0], s.rule));
  const Decision decision = decide(s.graph, {kPicture}, q);
  EXPECT_TRUE(decision.report.labelled);
  EXPECT_EQ(decision.report.fp32_miou, 1);
  EXPECT_LT(decision.report.miou, 1);
}

TEST(Decide, DecisionsAreReadBack) {
  const Sensitive s;
  const Decision decision = decide(s.graph, {kPicture}, question(s, Precision::int8));
  ArchiveWriter out;
  write_decision(out, decision);
  ArchiveReader in(out.bytes());
  const Decision again = read_decision(in);
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(again.precision, decision.precision);
  EXPECT_EQ(again.report.mask_change, decision.report.mask_change);
  EXPECT_EQ(again.report.candidates.size(), decision.report.candidates.size());
  EXPECT_TRUE(again.report.from_cache);
  const Tensor a = run_all(apply(s.ready, decision.recipe), s.samples, machine())[0][0],
               b = run_all(apply(s.ready, again.recipe), s.samples, machine())[0][0];
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0);
  for (std::size_t size = 0; size < out.bytes().size(); size += 11) {
    ArchiveReader part(std::span(out.bytes()).first(size));
    EXPECT_THROW(read_decision(part), Error);
  }
}

}  // namespace
}  // namespace saccade::quantise
