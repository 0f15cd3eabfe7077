// Trials of jobs on a planted machine.
#include "tune/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <thread>

#include "tune/knobs.h"

namespace saccade::tune {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

struct Optimize : testing::Test {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("saccade-optimize-" + std::to_string(::getpid()));
  JobOptions job;
  std::set<std::filesystem::path> outputs;
  std::int64_t frames_in_input = 1000;

  void SetUp() override {
    std::filesystem::create_directories(folder);
    job.input = folder / "in.mp4";
    job.output = folder / "out.mov";
    std::ofstream(job.input) << "a video";
    std::ofstream(job.output) << "precious";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// A machine where a run takes no time and says that a frame took what `time` says, in milliseconds.
  template <class F>
  RunJob machine(F time) {
    return [this, time](const JobOptions& options, const JobCallbacks&) {
      EXPECT_TRUE(options.overwrite);
      EXPECT_FALSE(options.resumable);
      outputs.insert(options.output);
      std::ofstream(options.output) << "a trial";
      JobReport report;
      report.frames = std::min(options.frames.value_or(frames_in_input), frames_in_input);
      report.frames_per_second = 1000 / time(options);
      report.precision.asked = options.precision;
      report.precision.mask_change = 0.0004;
      report.peak_memory_bytes = 100'000'000LL * (options.tokens + 1);
      return report;
    };
  }
};

TEST_F(Optimize, BadSettingsAreBeatenAndOutputsVanish) {
  job.threads = 1000;
  job.mode = Mode::latency;
  job.tokens = 4000;
  job.resumable = true;
  const OptimizeReport report =
      optimize(job, {}, {}, machine([](const JobOptions& o) {
                 return 10.0 * (o.threads == 1000 ? 2 : 1) * (o.mode == Mode::latency ? 1.5 : 1) *
                        (o.tokens == 4000 ? 1.2 : 1) * (o.precision == Precision::automatic ? 0.8 : 1);
               }));
  EXPECT_THAT(report.best, Contains(Pair("threads", "default")));
  EXPECT_THAT(report.best, Contains(Pair("mode", "throughput")));
  EXPECT_THAT(report.best, Contains(Pair("tokens", testing::_)));
  EXPECT_THAT(report.best, Contains(Pair("precision", "auto")));
  EXPECT_NEAR(report.speedup, 2 * 1.5 * 1.2 / 0.8, 1e-6);
  EXPECT_NEAR(report.frames_per_second, 125, 1e-6);
  EXPECT_DOUBLE_EQ(report.mask_change, 0.0004);
  EXPECT_GT(report.trials.size(), 5u);
  const JobOptions better = with_settings(job, report.best);
  EXPECT_EQ(better.threads, 0);
  EXPECT_EQ(better.mode, Mode::throughput);
  EXPECT_EQ(better.precision, Precision::automatic);
  EXPECT_EQ(better.output, job.output);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs.begin()->extension(), ".mov");
  EXPECT_FALSE(std::filesystem::exists(outputs.begin()->parent_path()));
  std::string kept;
  std::ifstream(job.output) >> kept;
  EXPECT_EQ(kept, "precious");
}

TEST_F(Optimize, AJobThatSaysNothingGivesNothingUp) {
  for (const OptimizeTrial& trial :
       optimize(job, {}, {}, machine([](const JobOptions&) { return 10.0; })).trials)
    EXPECT_NE(trial.group, "defaults");
}

TEST_F(Optimize, SettingsThatHoldEachOtherBackAreLeftTogetherAndFirst) {
  job.mode = Mode::latency;
  job.tokens = 1;
  job.encoder_threads = 1;
  const OptimizeReport report =
      optimize(job, {}, {}, machine([](const JobOptions& o) {
                 const bool bad = o.mode == Mode::latency || o.tokens == 1 || o.encoder_threads == 1;
                 return bad ? 20.0 : o.tokens == 0 ? 10.0 : 11.0;
               }));
  EXPECT_EQ(report.trials.at(0).group, "defaults");
  EXPECT_NEAR(report.speedup, 2, 1e-6);
  EXPECT_THAT(report.best, Contains(Pair("tokens", "default")));
  EXPECT_THAT(report.best, Contains(Pair("encoder-threads", "default")));
}

TEST_F(Optimize, WhatWasFoundBeforeIsTriedFirstAndKeptIfItStillWins) {
  Settings stored;
  Memory memory;
  memory.recall = [&](const JobReport& first) {
    EXPECT_GT(first.frames, 0);
    return stored;
  };
  memory.keep = [&](const JobReport&, const Settings& best) { stored = best; };
  job.tokens = 4000;
  const auto time = [](const JobOptions& o) {
    return 10.0 * (o.tokens == 4000 ? 2 : 1) * (o.decoder_threads > 1 ? 0.9 : 1);
  };
  const OptimizeReport fresh = optimize(job, {}, {}, machine(time), memory);
  ASSERT_FALSE(fresh.best.empty());
  EXPECT_EQ(stored, fresh.best);
  EXPECT_NE(fresh.trials.at(0).group, "found before");
  const OptimizeReport again = optimize(job, {}, {}, machine(time), memory);
  EXPECT_EQ(again.trials.at(0).group, "found before");
  EXPECT_EQ(again.trials.at(0).settings, stored);
  EXPECT_EQ(again.best, fresh.best);
  // Where it does not win any more, something else does, and that is kept.
  const OptimizeReport changed = optimize(
      job, {}, {}, machine([](const JobOptions& o) { return o.decoder_threads > 1 ? 20.0 : 10.0; }), memory);
  EXPECT_TRUE(changed.best.empty());
  EXPECT_TRUE(stored.empty());
  // What is no candidate any more is not tried.
  stored = {{"tokens", "123456"}};
  for (const OptimizeTrial& trial : optimize(job, {}, {}, machine(time), memory).trials)
    EXPECT_NE(trial.group, "found before");
  stored = {{"colour", "red"}};
  EXPECT_NO_THROW(optimize(job, {}, {}, machine(time), memory));
}

TEST_F(Optimize, WindowsAndTilesAreSearchedWhereThereAreAny) {
  const auto time = [](const JobOptions& o) {
    return 10.0 * (o.window_batch == 4 ? 0.8 : 1) * (o.tile == 512 ? 0.7 : 1);
  };
  EXPECT_THAT(optimize(job, {}, {}, machine(time)).best, testing::IsEmpty());
  job.window = 0;
  EXPECT_THAT(optimize(job, {}, {}, machine(time)).best, testing::ElementsAre(Pair("window-batch", "4")));
  job.window.reset();
  job.tile = 300;  // asked for
  EXPECT_THAT(optimize(job, {}, {}, machine(time)).best, testing::IsEmpty());
  job.tile = 0;
  const OptimizeReport report = optimize(job, {}, {}, machine(time));
  EXPECT_THAT(report.best, testing::ElementsAre(Pair("tile", "512")));
  EXPECT_EQ(with_settings(job, report.best).tile, 512);
}

TEST_F(Optimize, ThePrecisionThatWasAskedForStays) {
  job.precision = Precision::bf16;
  const OptimizeReport report = optimize(job, {}, {}, machine([](const JobOptions& o) {
                                           EXPECT_EQ(o.precision, Precision::bf16);
                                           return 10.0;
                                         }));
  EXPECT_TRUE(report.best.empty());
  EXPECT_EQ(report.speedup, 1);
}

TEST_F(Optimize, LatencyIsBounded) {
  OptimizeOptions options;
  options.max_latency_ms = 35;
  // More pictures in flight would be faster, but wait too long.
  const OptimizeReport report =
      optimize(job, options, {}, machine([](const JobOptions& o) { return o.tokens > 3 ? 9.0 : 10.0; }));
  for (const auto& [name, value] : report.best) {
    if (name == "tokens") {
      EXPECT_LE(std::stoi(value), 3);
    }
  }
  bool refused = false;
  for (const OptimizeTrial& trial : report.trials)
    refused =
        refused || trial.verdict.find("between decoder and encoder, more than 35 ms") != std::string::npos;
  EXPECT_TRUE(refused);
}

TEST_F(Optimize, WhatCannotBeTriedIsRefused) {
  const auto refused = [&](const JobOptions& options, const OptimizeOptions& how = {}) -> std::string {
    try {
      optimize(options, how, {}, machine([](const JobOptions&) { return 10.0; }));
    } catch (const Error& e) {
      return e.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  };
  JobOptions other = job;
  other.input = folder / "none.mp4";
  EXPECT_THAT(refused(other), HasSubstr("none.mp4: no such file"));
  other.input = folder;
  EXPECT_THAT(refused(other), HasSubstr("stands for several files"));
  other.input = "-";
  EXPECT_THAT(refused(other), HasSubstr("cannot be read again"));
  other = job;
  other.live = true;
  EXPECT_THAT(refused(other), HasSubstr("live"));
  OptimizeOptions none;
  none.budget_seconds = 0;
  EXPECT_THAT(refused(job, none), HasSubstr("a budget of 0 s is none"));
  frames_in_input = 1;
  EXPECT_THAT(refused(job), HasSubstr("single picture"));
  const RunJob broken = [](const JobOptions&, const JobCallbacks&) -> JobReport {
    throw Error(ErrorCode::media, "in.mp4: no video");
  };
  try {
    optimize(job, {}, {}, broken);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "in.mp4: no video");
  }
}

TEST_F(Optimize, InterruptionAndBudgetEndATrialThatTakesLong) {
  const RunJob slow = [](const JobOptions& options, const JobCallbacks& callbacks) {
    JobReport report;
    report.frames_per_second = 100;
    report.frames = 30;
    while (options.precision == Precision::automatic && !*callbacks.cancel)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    report.interrupted = *callbacks.cancel;
    return report;
  };
  OptimizeOptions options;
  options.budget_seconds = 1.5;
  const OptimizeReport report = optimize(job, options, {}, slow);
  EXPECT_THAT(report.trials.back().verdict, HasSubstr("no time was left"));
  std::atomic<bool> cancel{true};
  OptimizeCallbacks callbacks;
  callbacks.cancel = &cancel;
  try {
    optimize(job, options, callbacks, slow);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::interrupted);
  }
}

}  // namespace
}  // namespace saccade::tune
