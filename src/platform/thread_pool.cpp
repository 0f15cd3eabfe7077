#include "platform/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <system_error>

#include "platform/cpu_use.h"
#include "saccade/error.h"

namespace saccade::platform {

namespace {

// Long enough to cover the gap between two steps or two frames of a busy job, short enough not to burn an
// idle core.
constexpr int kSpinsBeforeYield = 4000;
constexpr auto kSpinTime = std::chrono::microseconds(150);

inline void relax() noexcept { __builtin_ia32_pause(); }

int cgroup_cpus() noexcept {
  try {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (file >> quota >> period && quota != "max" && period > 0)
      return std::max(1, static_cast<int>(std::ceil(std::stod(quota) / period)));
  } catch (...) {
    return 1 << 20;
  }
  return 1 << 20;
}

}  // namespace

int available_cpus() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int mask = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, std::min(mask, cgroup_cpus()));
}

void SpinBarrier::arrive_and_wait() noexcept {
  const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
    waiting_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    return;
  }
  int spins = 0;
  while (phase_.load(std::memory_order_acquire) == phase) {
    if (++spins < kSpinsBeforeYield) {
      relax();
    } else {
      sched_yield();
    }
  }
}

ThreadTeam::ThreadTeam(int threads) {
  workers_.reserve(static_cast<std::size_t>(std::max(threads, 1) - 1));
  const NamedThreads named(kTeamThreads);
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& e) {
    const std::size_t started = workers_.size() + 1;
    stop();  // those that run already: a thread must not be destroyed before it has ended
    throw Error(ErrorCode::limit, "the system refused thread " + std::to_string(started + 1) + " of " +
                                      std::to_string(threads) + " (" + e.code().message() +
                                      "); use fewer threads");
  } catch (...) {
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

void ThreadTeam::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::run(Body body, void* argument) noexcept {
  if (workers_.empty()) {
    body(argument, 0);
    return;
  }
  body_ = body;
  argument_ = argument;
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) {
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.notify_all();
  }
  body(argument, 0);
  int spins = 0;
  while (running_.load(std::memory_order_acquire) != 0) {
    if (++spins < kSpinsBeforeYield) {
      relax();
    } else {
      sched_yield();
    }
  }
}

void ThreadTeam::work(int index) noexcept {
  std::uint32_t seen = 0;
  for (;;) {
    const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
    int spins = 0;
    while (generation_.load(std::memory_order_acquire) == seen) {
      relax();
      if (++spins % 256 == 0 && std::chrono::steady_clock::now() > deadline) {
        std::unique_lock lock(mutex_);
        parked_.fetch_add(1, std::memory_order_seq_cst);
        wake_.wait(lock, [&] { return generation_.load(std::memory_order_seq_cst) != seen; });
        parked_.fetch_sub(1, std::memory_order_relaxed);
        break;
      }
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    body_(argument_, index);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace saccade::platform
