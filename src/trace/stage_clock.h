// Wall and CPU time spent in a named stage, summed over threads. Cheap enough to leave on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "trace/recorder.h"

namespace saccade::trace {

/// CPU time of the calling thread, and of all threads of the process.
std::chrono::nanoseconds thread_cpu_time() noexcept;
std::chrono::nanoseconds process_cpu_time() noexcept;
/// How long the calling thread could have run and had no CPU; negative where the kernel does not tell.
std::chrono::nanoseconds thread_run_delay() noexcept;

/// Thread-safe. `seconds()` may exceed the wall time of the job when a stage runs on several threads at once.
class StageClock {
 public:
  class Scope {
   public:
    explicit Scope(StageClock& clock) noexcept
        : clock_(clock),
          delay_start_(clock.run_delay()),
          start_(std::chrono::steady_clock::now()),
          cpu_start_(thread_cpu_time()) {}
    ~Scope() {
      clock_.end(start_, thread_cpu_time() - cpu_start_);
      clock_.add_delay(clock_.run_delay() - delay_start_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StageClock& clock_;
    std::chrono::nanoseconds delay_start_;
    std::chrono::steady_clock::time_point start_;
    std::chrono::nanoseconds cpu_start_;
  };

  /// From now on each stay is also a span there. Before other threads use the clock.
  void attach(Recorder& recorder, std::string_view name, Category category = Category::stage) {
    name_ = recorder.name({.text = std::string(name), .category = category});
    recorder_ = &recorder;
  }
  Recorder* recorder() const noexcept { return recorder_; }
  /// From now on the time counts too in which threads inside had no CPU, a microsecond more a stay. Before
  /// other threads use the clock.
  void watch_delays() noexcept { watches_delays_ = true; }

  void add(std::chrono::nanoseconds time, std::chrono::nanoseconds cpu = {}) noexcept {
    cpu_nanoseconds_.fetch_add(cpu.count(), std::memory_order_relaxed);
    nanoseconds_.fetch_add(time.count(), std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  void add_delay(std::chrono::nanoseconds time) noexcept {
    if (time.count() > 0) delay_nanoseconds_.fetch_add(time.count(), std::memory_order_relaxed);
  }
  /// Of the calling thread so far, where that is watched.
  std::chrono::nanoseconds run_delay() const noexcept {
    return watches_delays_ ? thread_run_delay() : std::chrono::nanoseconds{};
  }
  /// A stay that began then and ends now, on no thread.
  void add_since(std::chrono::steady_clock::time_point start) noexcept { end(start, {}); }
  double seconds() const noexcept {
    return static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
  }
  /// CPU time of the threads that were inside; not that of threads they waited for.
  double cpu_seconds() const noexcept {
    return static_cast<double>(cpu_nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
  }
  /// Of the time inside, that in which threads could have run and had no CPU.
  double delay_seconds() const noexcept {
    return static_cast<double>(delay_nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
  }
  std::int64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  void end(std::chrono::steady_clock::time_point start, std::chrono::nanoseconds cpu) noexcept {
    const auto now = std::chrono::steady_clock::now();
    add(now - start, cpu);
    if (recorder_ != nullptr)
      recorder_->record(name_, recorder_->since_start(start), recorder_->since_start(now), cpu.count());
  }

  Recorder* recorder_ = nullptr;
  NameId name_ = 0;
  bool watches_delays_ = false;
  std::atomic<std::int64_t> nanoseconds_{0};
  std::atomic<std::int64_t> cpu_nanoseconds_{0};
  std::atomic<std::int64_t> delay_nanoseconds_{0};
  std::atomic<std::int64_t> count_{0};
};

}  // namespace saccade::trace
