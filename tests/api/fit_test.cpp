// What fits into memory, by planned sizes.
#include "saccade/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "apps/tiny_onnx.h"
#include "base/temporary_folder.h"
#include "saccade/error.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;

struct FitTest : ::testing::Test {
  void SetUp() override { testing::write_small_network(folder / "model.onnx"); }
  Model model() const { return Model::load(folder / "model.onnx"); }
  /// What a batch really takes.
  static std::int64_t bytes(const Model& model, std::int64_t batch, int contexts, int threads = 1) {
    CompileOptions options;
    options.batch = batch;
    const Plan plan = model.compile(options);
    return plan.weight_bytes() + contexts * (plan.arena_bytes() + threads * plan.thread_scratch_bytes());
  }
  TemporaryFolder scratch{"saccade-fit."};
  fs::path folder = scratch.path();
};

TEST_F(FitTest, TheLargestBatchThatFitsIsFound) {
  const Model network = model();
  for (const std::int64_t want : {1, 2, 3, 5, 8, 13}) {
    // Just enough for that batch, then one byte too little.
    const std::int64_t enough = bytes(network, want, 1);
    ASSERT_LT(enough, bytes(network, want + 1, 1));
    const MemoryFit fit = fit_memory(network, {.compile = {}, .max_memory = enough, .max_batch = 32});
    EXPECT_EQ(fit.batch, want);
    EXPECT_EQ(fit.contexts, 1);
    EXPECT_EQ(fit.total_bytes, enough);
    if (want > 1) {
      EXPECT_EQ(fit_memory(network, {.compile = {}, .max_memory = enough - 1, .max_batch = 32}).batch,
                want - 1);
    }
  }
  EXPECT_EQ(fit_memory(network, {.compile = {}, .max_memory = std::int64_t{1} << 40, .max_batch = 11}).batch,
            11);
}

TEST_F(FitTest, ContextsComeFirst) {
  const Model network = model();
  const std::int64_t enough = bytes(network, 2, 3, 2);
  const MemoryFit fit = fit_memory(
      network, {.compile = {}, .max_memory = enough, .max_batch = 32, .max_contexts = 3, .threads = 2});
  EXPECT_EQ(fit.contexts, 3);
  EXPECT_EQ(fit.batch, 2);
  EXPECT_LE(fit.total_bytes, enough);
  EXPECT_EQ(fit.total_bytes, fit.weight_bytes + 3 * fit.context_bytes);
  const std::int64_t two = bytes(network, 1, 2);
  EXPECT_EQ(
      fit_memory(network, {.compile = {}, .max_memory = two, .max_batch = 32, .max_contexts = 9}).contexts,
      2);
}

TEST_F(FitTest, WhatDoesNotFitAtAllIsAnError) {
  try {
    fit_memory(model(), {.compile = {}, .max_memory = 10});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit);
    EXPECT_THAT(error.what(), ::testing::HasSubstr(std::to_string(bytes(model(), 1, 1)) + " bytes"));
  }
}

TEST(QueueLength, IsRateTimesLatency) {
  EXPECT_EQ(queue_length(30, 0.1), 3);
  EXPECT_EQ(queue_length(25, 1), 25);
  EXPECT_EQ(queue_length(30, 0.001), 1);
  EXPECT_EQ(queue_length(1e9, 1e9), 4096);
  EXPECT_THROW(queue_length(0, 1), Error);
  EXPECT_THROW(queue_length(30, -1), Error);
  EXPECT_THROW(queue_length(std::numeric_limits<double>::quiet_NaN(), 1), Error);
}

// Memory that holds so many at a time: the batch settles there, and recovers when there is more.
TEST(AdaptiveBatch, HalvesAndGrowsBack) {
  AdaptiveBatch batch(32);
  std::int64_t room = 10, failures = 0, done = 0;
  const auto step = [&] {
    if (batch.size() > room) {
      ++failures;
      EXPECT_TRUE(batch.failed());
    } else {
      done += batch.size();
      batch.succeeded();
    }
  };
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_LE(failures, 12);         // it tries again ever more rarely
  EXPECT_GT(done, 1000 * 10 / 2);  // and runs at more than half of what fits
  room = 100;
  failures = 0;
  for (int i = 0; i < 30000 && batch.size() < 32; ++i) step();
  EXPECT_EQ(batch.size(), 32);
  EXPECT_EQ(failures, 0);
  AdaptiveBatch one(1);
  EXPECT_FALSE(one.failed());
  EXPECT_EQ(one.size(), 1);
}

}  // namespace
}  // namespace saccade
