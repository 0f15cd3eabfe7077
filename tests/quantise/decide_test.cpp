#include "quantise/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cpu/target.h"
#include "networks.h"
#include "quantise/calibrate.h"
#include "quantise/selection.h"
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

TEST(Decide, TheBudgetLoopFindsThePlantedLayers) {
  const Sensitive s;
  ASSERT_EQ(s.names.size(), 7u);
  const double all = s.change({});
  std::vector<LayerGain> gains;
  for (const std::string& name : s.names) {
    const Recipe alone = *part_of(s.ready, s.whole, s.others(name));
    gains.push_back(
        {name, relative_error(run_all(apply(s.ready, alone), s.samples, machine()), s.expected), 1});
  }
  const Names order = reverting_order(gains);
  EXPECT_THAT(Names(order.begin(), order.begin() + 2),
              ::testing::UnorderedElementsAre(s.names[3], s.names[4]));
  const double without = s.change({s.names[3], s.names[4]});
  ASSERT_LT(without, 0.5 * all);
  const double budget = (without + all) / 2;
  const auto reverted = revert_until(order, [&](const Names& single) { return s.change(single) <= budget; });
  ASSERT_TRUE(reverted);
  EXPECT_LE(reverted->size(), 2u);
  EXPECT_LE(s.change(*reverted), budget);
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

Question question(const Sensitive& s, Precision asked) {
  Question q;
  q.asked = asked;
  q.rule = s.rule;
  q.calibration = s.samples;
  q.measured = testing::smooth_samples(kPicture, 2, 77);
  q.machine = machine();
  return q;
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
  testing::ConvMaker m;
  const Shape picture{1, 64, 64, 64};
  auto x = m.input("picture", picture);
  for (int i = 0; i < 4; ++i) x = m.relu(m.fair_conv(x, 64, 64));
  const ir::Graph graph = m.finish({m.fair_conv(x, 64, 3, 1)});
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
