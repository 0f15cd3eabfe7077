#include "profile/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace saccade::profile {
namespace {

using ::testing::HasSubstr;

/// A job of 100 frames at 1080p on 4 CPUs, all busy: 24 ms of CPU a frame.
pipeline::Measurements usual() {
  pipeline::Measurements m;
  m.video = true;
  m.frames = 100;
  m.seconds = 0.6;
  m.cpus = m.threads = m.streams = m.lanes = 4;
  m.tokens = 6;
  m.width = 1920;
  m.height = 1080;
  m.codec = "h264";
  m.encoder = "libx264";
  m.encoder_threads = 0;
  m.read = {0.01, 0.01};
  m.decode = {0.4, 0.4};
  m.preprocess = {0.1, 0.1};
  m.infer = {0.5, 0.5};
  m.mask = {0.1, 0.1};
  m.composite = {0.2, 0.2};
  m.encode = {0.1, 0.09};
  m.write = {0.01, 0.01};
  m.encoder_cpu = 1.0;
  return m;
}

const Suggestion* suggestion(const BottleneckReport& report, const std::string& setting) {
  for (const Suggestion& s : report.suggestions)
    if (s.setting.find(setting) != std::string::npos) return &s;
  return nullptr;
}

TEST(Verdict, FindsASlowPreset) {
  pipeline::Measurements m = usual();
  m.preset = "slower";
  m.encoder_cpu = 8;
  m.seconds = 2.4;
  Trials trials;
  trials.encode = [](const std::string& preset, double pixels) -> std::optional<double> {
    EXPECT_EQ(pixels, 1);
    EXPECT_EQ(preset, "veryfast");
    return 0.011;
  };
  const BottleneckReport report = judge({}, m, {}, trials);
  EXPECT_EQ(report.cause, "encoder-preset");
  EXPECT_EQ(report.stage, "encode");
  const Suggestion* best = suggestion(report, "--preset veryfast");
  ASSERT_NE(best, nullptr);
  // 94.1 ms of CPU a frame become 24.2.
  EXPECT_NEAR(best->speedup, 94.1 / 24.2, 0.2);
  EXPECT_GT(report.speedup_if_free, best->speedup);
  EXPECT_THAT(report.text, HasSubstr("preset slower"));
  // Without a trial the presets' usual proportions have to do.
  const BottleneckReport guessed = judge({}, m);
  EXPECT_EQ(guessed.cause, "encoder-preset");
  EXPECT_NEAR(suggestion(guessed, "veryfast")->speedup, best->speedup, 0.8);
}

TEST(Verdict, FindsTooFewThreads) {
  pipeline::Measurements m = usual();
  m.threads = m.streams = m.lanes = 1;
  m.tokens = 3;
  m.seconds = 1.5;
  m.idle_cpus = 2.3;
  const BottleneckReport report = judge({}, m);
  EXPECT_EQ(report.cause, "few-threads");
  EXPECT_EQ(report.stage, "schedule");
  ASSERT_NE(suggestion(report, "--threads 4"), nullptr);
  EXPECT_NEAR(suggestion(report, "--threads 4")->speedup, 14.1 / (24.1 / 4), 0.25);
}

TEST(Verdict, AnEncodersThreadsWaitForEachOther) {
  pipeline::Measurements m = usual();
  m.threads = m.streams = m.lanes = m.encoder_threads = 1;
  m.tokens = 3;
  m.encode = {2, 2};
  m.encoder_cpu = 0;
  m.seconds = 3.3;
  m.idle_cpus = 3;
  Trials trials;
  double speedup = 4;
  trials.encode_speedup = [&speedup](int threads) -> std::optional<double> {
    EXPECT_EQ(threads, 0);
    return speedup;
  };
  const auto promised = [&] { return suggestion(judge({}, m, {}, trials), "--threads 4")->speedup; };
  const double ideal = promised();
  EXPECT_NEAR(ideal, suggestion(judge({}, m), "--threads 4")->speedup, 1e-9);
  speedup = 1.6;
  // Four threads of it do the work of 1.6: 20 ms of CPU a frame become as much as 50.
  EXPECT_NEAR(promised(), 33.1 / ((13.1 + 50) / 4), 0.3);
  EXPECT_LT(promised(), ideal);
}

TEST(Verdict, FindsTooFewFramesUnderWay) {
  pipeline::Measurements m = usual();
  m.tokens = 1;
  m.seconds = 1.5;
  m.idle_cpus = 2.3;
  const BottleneckReport report = judge({}, m);
  EXPECT_EQ(report.cause, "few-frames-under-way");
}

TEST(Verdict, FindsThreadsThatShareOneFrame) {
  pipeline::Measurements m = usual();
  m.streams = 1;
  m.lanes = 2;
  m.infer = {0.5, 0.5};
  m.encoder_cpu = 2.5;  // 1.5 of it the network's other threads
  m.composite = {1.2, 1.2};
  m.seconds = 1.8;
  m.idle_cpus = 1.5;
  JobOptions options;
  options.mode = Mode::latency;
  const BottleneckReport report = judge(options, m);
  EXPECT_EQ(report.cause, "few-streams") << report.text;
  EXPECT_NE(suggestion(report, "--mode throughput"), nullptr);
}

TEST(Verdict, FindsAnEncoderWithTooFewThreads) {
  pipeline::Measurements m = usual();
  m.encoder_threads = 1;
  m.encode = {2, 2};
  m.encoder_cpu = 0;
  m.seconds = 2;
  m.idle_cpus = 2;
  JobOptions options;
  options.encoder_threads = 1;
  EXPECT_EQ(judge(options, m).cause, "few-encoder-threads");
}

TEST(Verdict, FindsAnInputThatIsWaitedFor) {
  pipeline::Measurements m = usual();
  m.read = {5, 0.01};
  m.seconds = 5.5;
  m.idle_cpus = 3.4;
  const BottleneckReport report = judge({}, m);
  EXPECT_EQ(report.cause, "slow-input");
  EXPECT_EQ(report.stage, "read");
  EXPECT_NEAR(report.suggestions.at(0).speedup, 54.0 / 6.0, 0.6);
}

TEST(Verdict, FindsAnOutputThatIsWaitedFor) {
  pipeline::Measurements m = usual();
  m.write = {5, 0.01};
  m.seconds = 5.5;
  m.idle_cpus = 3.4;
  EXPECT_EQ(judge({}, m).cause, "slow-output");
}

TEST(Verdict, FindsLargePictures) {
  pipeline::Measurements m = usual();
  m.width = 3840;
  m.height = 2160;
  m.decode = {1.6, 1.6};
  m.composite = {0.8, 0.8};
  m.mask = {0.4, 0.4};
  m.encoder_cpu = 4;
  m.seconds = 2;
  const BottleneckReport report = judge({}, m);
  EXPECT_EQ(report.cause, "large-pictures");
  EXPECT_GT(report.suggestions.at(0).speedup, 2.5);
  // Where small pictures are easier to encode than their pixels say.
  Trials trials;
  trials.encode = [](const std::string&, double pixels) -> std::optional<double> {
    return pixels < 1 ? 0.1 * pixels * 4 / 100 : 4.0 / 100;
  };
  EXPECT_GT(judge({}, m, {}, trials).suggestions.at(0).speedup, 1.1 * report.suggestions.at(0).speedup);
}

TEST(Verdict, FindsPictureFiles) {
  pipeline::Measurements m = usual();
  m.encoder.clear();
  m.encoder_cpu = 0;
  m.encode = {0.01, 0.01};
  m.pictures = true;
  m.picture_kind = "png";
  m.prepare = {9, 9};
  m.seconds = 2.6;
  const BottleneckReport report = judge({}, m);
  EXPECT_EQ(report.cause, "picture-output");
  EXPECT_EQ(report.stage, "pictures");
  EXPECT_NE(suggestion(report, "jpg"), nullptr);
}

TEST(Verdict, FindsABoundOfMemory) {
  pipeline::Measurements m = usual();
  m.infer = {5, 5};
  m.seconds = 1.8;
  JobOptions options;
  options.max_memory = 1000;
  Trials trials;
  trials.infer_without_cap = [] { return std::optional<double>(0.2); };
  const BottleneckReport report = judge(options, m, {}, trials);
  EXPECT_EQ(report.cause, "memory-cap");
  EXPECT_NEAR(report.suggestions.at(0).speedup, 69.1 / 29.1, 0.1);
  // Where the trial gains nothing the bound is not to blame.
  trials.infer_without_cap = [] { return std::optional<double>(1.0); };
  EXPECT_EQ(judge(options, m, {}, trials).cause, "compute-bound");
}

TEST(Verdict, FindsASlowerPrecisionThanNeedBe) {
  pipeline::Measurements m = usual();
  m.infer = {5, 5};
  m.seconds = 1.8;
  Trials trials;
  trials.infer_bf16 = [] { return std::optional<double>(0.4); };
  EXPECT_EQ(judge({}, m, {}, trials).cause, "precision");
}

TEST(Verdict, TellsComputingFromMovingAndWaiting) {
  pipeline::Measurements m = usual();
  m.infer = {5, 5};
  m.seconds = 1.8;
  EXPECT_EQ(judge({}, m).cause, "compute-bound");
  EXPECT_EQ(judge({}, m).stage, "infer");
  NetworkFacts network{
      .known = true, .memory_share = 0.8, .weight_bytes = 100'000'000, .cache_bytes = 1 << 20};
  EXPECT_EQ(judge({}, m, network).cause, "memory-bound");
  network.memory_share = 0;
  EXPECT_EQ(judge({}, m, network).cause, "compute-bound");
  network.large_share = 0.9;
  network.floor_ns = 10e6;  // of 50 ms
  EXPECT_EQ(judge({}, m, network).cause, "memory-bound");
  m.infer = {8, 0.5};
  m.seconds = 2.2;
  m.idle_cpus = 3;
  EXPECT_EQ(judge({}, m, network).cause, "waiting");
}

TEST(Verdict, SeesOthersOnTheMachine) {
  pipeline::Measurements m = usual();
  m.seconds = 2.4;  // one CPU's worth
  m.own_cpus = 1;
  m.idle_cpus = 0;
  EXPECT_EQ(judge({}, m).cause, "busy-machine");
  // What is set wrong is named all the same, with the gain that it has as things are.
  m.tokens = 1;
  const BottleneckReport report = judge({}, m);
  EXPECT_EQ(report.cause, "few-frames-under-way");
  pipeline::Measurements free = m;
  free.idle_cpus = 3;
  EXPECT_LT(report.suggestions.at(0).speedup, judge({}, free).suggestions.at(0).speedup);
  EXPECT_THAT(report.text, HasSubstr("Other programs kept 3.0 of the 4 CPUs busy"));
}

TEST(Verdict, OwnThreadsAreNoOtherProgram) {
  pipeline::Measurements m = usual();
  m.threads = m.streams = m.lanes = 64;
  m.tokens = 66;
  m.own_cpus = 4;
  m.idle_cpus = 0;
  m.delays_known = true;
  m.infer = {8, 0.5, 7.5};
  m.mask = {1.6, 0.1, 1.5};
  const BottleneckReport report = judge({}, m);
  EXPECT_NE(report.cause, "busy-machine");
  EXPECT_NE(report.cause, "waiting");
}

TEST(Verdict, OfAJobThatIsAsItShouldBeBlamesNoSetting) {
  const BottleneckReport report = judge({}, usual());
  EXPECT_EQ(report.cause, "encoder");
  EXPECT_EQ(report.stage, "encode");
  EXPECT_LE(report.suggestions.size(), 3u);
  EXPECT_NEAR(report.model_frames_per_second, 4 / 0.0242, 5);
  EXPECT_THAT(verdict_text(report), HasSubstr("encode"));
}

TEST(Verdict, OfNothingIsHarmless) {
  const BottleneckReport report = judge({}, {});
  EXPECT_TRUE(report.suggestions.empty());
  EXPECT_FALSE(verdict_text(report).empty());
}

}  // namespace
}  // namespace saccade::profile
