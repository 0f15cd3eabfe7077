// Fork/join over a fixed team: workers spin while work keeps coming and park when it does not.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace saccade::platform {

/// A barrier for a fixed number of threads that spins (with a yield fallback, so that it makes progress when
/// there are fewer cores than threads). A release/acquire point for every participant.
class SpinBarrier {
 public:
  explicit SpinBarrier(int parties) : parties_(parties) {}
  void arrive_and_wait() noexcept;

 private:
  const int parties_;
  alignas(64) std::atomic<int> waiting_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
};

/// What threads of teams are called.
inline constexpr char kTeamThreads[] = "saccade-team";

/// A team of `threads` including the caller. `run` is not reentrant and must be called by one thread at a
/// time.
class ThreadTeam {
 public:
  /// Throws Error(limit) where the system refuses a thread.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }
  /// Calls body(argument, index) once on each thread, index 0 on the caller, and returns when all have
  /// returned.
  using Body = void (*)(void* argument, int index) noexcept;
  void run(Body body, void* argument) noexcept;

 private:
  void work(int index) noexcept;
  void stop() noexcept;

  std::vector<std::thread> workers_;
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  alignas(64) std::atomic<int> running_{0};
  std::atomic<int> parked_{0};
  std::atomic<bool> stop_{false};
  Body body_ = nullptr;
  void* argument_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_;
};

/// CPUs this process may use: affinity mask and cgroup quota, at least 1.
int available_cpus() noexcept;

}  // namespace saccade::platform
