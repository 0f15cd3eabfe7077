#include "platform/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "saccade/error.h"

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

// Sanitizers need address space themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SACCADE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SACCADE_SANITIZED 1
#endif
#endif
#ifndef SACCADE_SANITIZED
// Ends the process: 0 where it was an error, 1 where it was not.
[[noreturn]] void ask_for_threads_without_memory() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  // Enough for the stacks of a few threads, not for those of all.
  const rlim_t most = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (64u << 20);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
  try {
    const ThreadTeam team(1000);
  } catch (const Error& e) {
    _exit(e.code() == ErrorCode::limit ? 0 : 3);
  }
  _exit(1);
}

TEST(ThreadTeam, ARefusedThreadIsAnError) {
  EXPECT_EXIT(ask_for_threads_without_memory(), ::testing::ExitedWithCode(0), "");
}
#endif

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
