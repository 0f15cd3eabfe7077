#include "platform/cpu_use.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace saccade::platform {
namespace {

std::string own_name() {
  std::array<char, 16> name{};
  ::prctl(PR_GET_NAME, name.data());
  return name.data();
}

TEST(CpuUse, SaysWhatThreadsHad) {
  if (thread_use().empty()) GTEST_SKIP() << "this kernel keeps no such numbers";
  std::atomic<bool> done{false}, computed{false};
  std::string name;
  std::thread worker;
  {
    const NamedThreads named("saccade-test");
    worker = std::thread([&] {
      name = own_name();
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
      while (std::chrono::steady_clock::now() < end) continue;
      computed = true;
      while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  while (!computed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto all = thread_use();
  done = true;
  worker.join();
  EXPECT_EQ(name, "saccade-test");
  const auto found =
      std::find_if(all.begin(), all.end(), [](const ThreadUse& use) { return use.name == "saccade-test"; });
  ASSERT_NE(found, all.end());
  EXPECT_GT(found->ran, 0);
  EXPECT_LE(found->ran + found->delayed, 60);
}

TEST(CpuUse, TheCallersNameComesBack) {
  const std::string before = own_name();
  {
    const NamedThreads named("a name that is longer than there is room for");
    EXPECT_EQ(own_name(), "a name that is ");
  }
  EXPECT_EQ(own_name(), before);
}

TEST(CpuUse, IdleTimeOnlyGrows) {
  const double first = idle_cpu_seconds();
  if (first < 0) GTEST_SKIP() << "there is no /proc/stat";
  EXPECT_GE(idle_cpu_seconds(), first);
}

}  // namespace
}  // namespace saccade::platform
