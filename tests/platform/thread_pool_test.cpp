#include "platform/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace saccade::platform {
namespace {

struct Count {
  std::vector<int> calls;
};

void count_call(void* argument, int index) noexcept {
  ++static_cast<Count*>(argument)->calls[static_cast<std::size_t>(index)];
}

TEST(ThreadTeam, EveryThreadRunsEachBodyOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    Count count{std::vector<int>(static_cast<std::size_t>(threads), 0)};
    for (int i = 0; i < 200; ++i) team.run(count_call, &count);
    for (const int calls : count.calls) EXPECT_EQ(calls, 200);
  }
}

TEST(ThreadTeam, WorksAgainAfterItParked) {
  ThreadTeam team(3);
  Count count{std::vector<int>(3, 0)};
  for (int i = 0; i < 5; ++i) {
    team.run(count_call, &count);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  for (const int calls : count.calls) EXPECT_EQ(calls, 5);
}

struct Relay {
  SpinBarrier barrier;
  std::vector<int> values;
  bool ok = true;
  explicit Relay(int n) : barrier(n), values(static_cast<std::size_t>(n), 0) {}
};

void relay(void* argument, int index) noexcept {
  auto& r = *static_cast<Relay*>(argument);
  for (int round = 1; round <= 50; ++round) {
    r.values[static_cast<std::size_t>(index)] = round;
    r.barrier.arrive_and_wait();
    for (const int value : r.values)
      if (value != round) r.ok = false;
    r.barrier.arrive_and_wait();
  }
}

TEST(SpinBarrier, PublishesWritesToAll) {
  ThreadTeam team(3);
  Relay r(3);
  team.run(relay, &r);
  EXPECT_TRUE(r.ok);
}

}  // namespace
}  // namespace saccade::platform
