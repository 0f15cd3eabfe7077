// What happens where memory for threads is refused. Not under sanitizers, which need address space
// themselves.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "platform/thread_pool.h"
#include "saccade/error.h"

namespace saccade::platform {
namespace {

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

}  // namespace
}  // namespace saccade::platform
