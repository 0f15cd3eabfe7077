// Every task of a phase is run once, whoever comes late.
#include "runtime/task_shares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "platform/thread_pool.h"

namespace saccade::runtime {
namespace {

TEST(TaskShares, OneThreadAloneTakesEverybodysTasks) {
  for (const std::int64_t tasks : {1, 2, 3, 7, 64, 1000}) {
    TaskShares shares(3);
    for (std::uint32_t phase = 1; phase <= 3; ++phase) {
      std::vector<int> runs(static_cast<std::size_t>(tasks));
      for (;;) {
        const TaskShares::Range range = shares.take(phase, tasks, 1);
        if (range.empty()) break;
        for (std::int64_t i = range.begin; i < range.end; ++i) ++runs[static_cast<std::size_t>(i)];
      }
      EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(tasks), 1)) << tasks << " tasks";
    }
  }
}

TEST(TaskShares, OwnTasksComeFirst) {
  TaskShares shares(2);
  const TaskShares::Range own = shares.take(1, 100, 1);
  EXPECT_EQ(own.begin, 50);
  EXPECT_EQ(own.end, 75);
}

TEST(TaskShares, PhaseNumbersWrap) {
  TaskShares shares(2);
  for (const std::uint32_t phase : {TaskShares::kPhases - 1, TaskShares::kPhases, TaskShares::kPhases + 1}) {
    std::int64_t sum = 0;
    for (TaskShares::Range range = shares.take(phase, 9, 0); !range.empty(); range = shares.take(phase, 9, 0))
      sum += range.end - range.begin;
    EXPECT_EQ(sum, 9) << phase;
  }
}

TEST(TaskShares, TheMostTasksFitAShare) {
  TaskShares shares(1);
  const TaskShares::Range range = shares.take(1, TaskShares::kMostTasks, 0);
  EXPECT_EQ(range.begin, 0);
  EXPECT_EQ(range.end, (TaskShares::kMostTasks + 1) / 2);
}

struct Race {
  explicit Race(int threads) : shares(threads), barrier(threads), runs(kTasks) {}

  static constexpr std::int64_t kTasks = 61;
  static constexpr std::uint32_t kPhases = 400;
  TaskShares shares;
  platform::SpinBarrier barrier;
  std::vector<std::atomic<std::uint32_t>> runs;
  std::atomic<bool> wrong{false};
};

TEST(TaskShares, EachTaskRunsOnceAPhaseWithAllThreadsAtOnce) {
  constexpr int kThreads = 4;
  Race race(kThreads);
  platform::ThreadTeam team(kThreads);
  team.run(
      [](void* argument, int thread) noexcept {
        Race& r = *static_cast<Race*>(argument);
        for (std::uint32_t phase = 1; phase <= Race::kPhases; ++phase) {
          for (TaskShares::Range range = r.shares.take(phase, Race::kTasks, thread); !range.empty();
               range = r.shares.take(phase, Race::kTasks, thread))
            for (std::int64_t i = range.begin; i < range.end; ++i)
              if (r.runs[static_cast<std::size_t>(i)].fetch_add(1) + 1 != phase) r.wrong = true;
          r.barrier.arrive_and_wait();
        }
      },
      &race);
  EXPECT_FALSE(race.wrong);
  for (const auto& count : race.runs) EXPECT_EQ(count, Race::kPhases);
}

}  // namespace
}  // namespace saccade::runtime
