#include "trace/stage_clock.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace saccade::trace {
namespace {

void burn(std::chrono::milliseconds time) {
  const auto end = thread_cpu_time() + time;
  while (thread_cpu_time() < end) continue;
}

TEST(StageClock, TellsComputingWaitingAndHavingNoCpuApart) {
  if (thread_run_delay().count() < 0) GTEST_SKIP() << "this kernel keeps no such numbers";
  StageClock clock;
  clock.watch_delays();
  // Two threads on one CPU: each waits for it about as long as it computes.
  std::atomic<bool> started{false}, done{false};
  const auto pin = [] {
    cpu_set_t all, one;
    CPU_ZERO(&all);
    CPU_ZERO(&one);
    ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &all)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  };
  std::thread other([&] {
    pin();
    started = true;
    while (!done) burn(std::chrono::milliseconds(1));
  });
  std::thread measured([&] {
    pin();
    while (!started) std::this_thread::yield();
    const StageClock::Scope scope(clock);
    burn(std::chrono::milliseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  });
  measured.join();
  done = true;
  other.join();
  EXPECT_GE(clock.cpu_seconds(), 0.1);
  EXPECT_GT(clock.delay_seconds(), 0.01);
  // What is left is the sleep: without the delay it would seem much longer.
  const double waited = clock.seconds() - clock.cpu_seconds() - clock.delay_seconds();
  EXPECT_GE(waited, 0.05);
  EXPECT_LT(clock.delay_seconds(), clock.seconds());
}

TEST(StageClock, DoesNotAskForDelaysUnlessTheyAreWanted) {
  StageClock clock;
  { const StageClock::Scope scope(clock); }
  EXPECT_EQ(clock.delay_seconds(), 0);
  EXPECT_EQ(clock.run_delay().count(), 0);
  EXPECT_EQ(clock.count(), 1);
}

}  // namespace
}  // namespace saccade::trace
