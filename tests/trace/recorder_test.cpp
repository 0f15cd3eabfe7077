#include "trace/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

#include "trace/stage_clock.h"
#include "trace/timers.h"

namespace saccade::trace {
namespace {

TEST(Schedule, WantsActiveTurnsOnly) {
  const Schedule schedule{.wait = 2, .warmup = 1, .active = 3, .repeat = 2};
  std::vector<std::int64_t> wanted;
  for (std::int64_t turn = 0; turn < 20; ++turn)
    if (schedule.wants(turn)) wanted.push_back(turn);
  EXPECT_THAT(wanted, ::testing::ElementsAre(3, 4, 5, 9, 10, 11));
  EXPECT_EQ(schedule.turns(), 12);
  const Schedule endless{.wait = 0, .warmup = 2, .active = 0, .repeat = 0};
  EXPECT_FALSE(endless.wants(1));
  EXPECT_TRUE(endless.wants(2));
  EXPECT_TRUE(endless.wants(1'000'000));
  EXPECT_EQ(endless.turns(), 0);
  const Schedule again{.wait = 1, .warmup = 0, .active = 1, .repeat = 0};
  EXPECT_TRUE(again.wants(1));
  EXPECT_FALSE(again.wants(2));
  EXPECT_TRUE(again.wants(99));
}

TEST(Recorder, KeepsEventsByThreadAndFrame) {
  Recorder recorder;
  const NameId a = recorder.name({.text = "a"}), b = recorder.name({.text = "b"});
  EXPECT_NE(a, b);
  EXPECT_EQ(recorder.name({.text = "a"}), a);
  EXPECT_NE(recorder.name({.text = "a", .category = Category::layer}), a);
  constexpr int kThreads = 4, kEach = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const FrameScope frame(&recorder, t * kEach + i);
        recorder.record(a, i, i + 1);
        const Span span(&recorder, b, 7);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::int64_t, int> frames;
  ASSERT_EQ(recorder.lanes().size(), std::size_t{kThreads});
  for (const Recorder::Lane& lane : recorder.lanes()) {
    EXPECT_EQ(lane.events.size(), std::size_t{2 * kEach});
    for (const Event& event : lane.events) {
      ++frames[event.frame];
      EXPECT_LE(event.start, event.end);
    }
  }
  EXPECT_EQ(frames.size(), std::size_t{kThreads * kEach});
  EXPECT_EQ(frames.begin()->second, 2);
  EXPECT_EQ(recorder.lost(), 0);
}

TEST(Recorder, CountsWhatFindsNoRoom) {
  Recorder recorder({.events_a_thread = 3, .threads = 1, .schedule = {}});
  const NameId name = recorder.name({.text = "x"});
  for (int i = 0; i < 5; ++i) recorder.record(name, i, i + 1);
  std::thread([&] { recorder.record(name, 0, 1); }).join();  // has no buffer
  ASSERT_EQ(recorder.lanes().size(), 1u);
  EXPECT_EQ(recorder.lanes()[0].events.size(), 3u);
  EXPECT_EQ(recorder.lost(), 3);
}

TEST(Recorder, SeparatesSeveralOnOneThread) {
  Recorder first, second;
  const NameId x = first.name({.text = "x"}), y = second.name({.text = "y"});
  for (int i = 0; i < 3; ++i) {
    first.record(x, i, i + 1);
    second.record(y, i, i + 1);
  }
  ASSERT_EQ(first.lanes().size(), 1u);
  ASSERT_EQ(second.lanes().size(), 1u);
  EXPECT_EQ(first.lanes()[0].events.size(), 3u);
  EXPECT_EQ(second.lanes()[0].events.size(), 3u);
}

TEST(Recorder, LeavesFramesOutsideTheScheduleAway) {
  Recorder recorder(
      {.events_a_thread = 100, .threads = 2, .schedule = {.wait = 1, .warmup = 1, .active = 2, .repeat = 1}});
  StageClock clock;
  clock.attach(recorder, "stage");
  for (int frame = 0; frame < 6; ++frame) {
    const FrameScope scope(&recorder, frame);
    const StageClock::Scope timing(clock);
  }
  { const StageClock::Scope timing(clock); }  // of no frame: the first turn's rule
  EXPECT_EQ(clock.count(), 7);
  const std::vector<TimerReport> reports = timers(recorder);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].name, "stage");
  EXPECT_EQ(reports[0].count, 2);
  EXPECT_GE(reports[0].cpu_ns, 0);
}

TEST(Timers, SummariseSpansOfOneName) {
  Recorder recorder;
  const NameId name = recorder.name({.text = "x", .bytes = 10, .operations = 4});
  for (int i = 1; i <= 100; ++i) recorder.record(name, 0, 1000 * i, -1, 1);
  recorder.count(recorder.name({.text = "value", .category = Category::counter}), 5);
  const std::vector<TimerReport> reports = timers(recorder);
  ASSERT_EQ(reports.size(), 1u);
  const TimerReport& r = reports[0];
  EXPECT_EQ(r.count, 100);
  EXPECT_EQ(r.total_ns, 5'050'000);
  EXPECT_EQ(r.cpu_ns, -1);
  EXPECT_DOUBLE_EQ(r.mean, 50.5e-6);
  EXPECT_DOUBLE_EQ(r.median, 50.5e-6);
  EXPECT_NEAR(r.p95, 95.05e-6, 1e-12);
  EXPECT_NEAR(r.p99, 99.01e-6, 1e-12);
  EXPECT_DOUBLE_EQ(r.min, 1e-6);
  EXPECT_DOUBLE_EQ(r.max, 100e-6);
  EXPECT_EQ(r.bytes, 1100);
  EXPECT_EQ(r.operations, 400);
}

}  // namespace
}  // namespace saccade::trace
