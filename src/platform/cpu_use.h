// Which threads and programs the CPUs work for.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace saccade::platform {

/// Seconds that the CPUs of this process (its affinity mask) had nothing to do, all together, since the
/// machine started; negative where the system does not tell.
double idle_cpu_seconds() noexcept;

/// What one thread of this process has had so far, in seconds: of a CPU, and of waiting for one while it
/// could have run.
struct ThreadUse {
  std::string name;
  double ran = 0, delayed = 0;
};

/// All threads that there are now; empty where the system does not tell.
std::vector<ThreadUse> thread_use();

/// While it lives, threads that the calling one starts bear a name (at most 15 bytes; longer ones are cut),
/// which libraries would not give theirs.
class NamedThreads {
 public:
  explicit NamedThreads(const char* name) noexcept;
  ~NamedThreads();
  NamedThreads(const NamedThreads&) = delete;
  NamedThreads& operator=(const NamedThreads&) = delete;

 private:
  std::array<char, 16> before_{};
};

}  // namespace saccade::platform
