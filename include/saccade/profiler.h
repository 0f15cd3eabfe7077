// Where the time of a program's own loop goes: named spans, on any thread, with a schedule that leaves the
// first turns out; as numbers, and as a trace that Chrome's and Perfetto's viewers read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace saccade {

namespace trace {
class Recorder;
}

struct ProfilerOptions {
  /// Of the turns of the loop (or frames of a job) `wait` are left out, then `warmup`, then `active` are
  /// recorded, and all that `repeat` times. 0 `active`: all that follow; 0 `repeat`: without end.
  std::int64_t wait = 0, warmup = 0, active = 0, repeat = 0;
  /// Spans that a thread can keep, allocated at once; what comes after them is counted as lost.
  std::size_t spans_a_thread = std::size_t{1} << 16;
  int threads = 64;  ///< that record at most
};

/// All spans of one name.
struct TimerReport {
  std::string name;
  std::string category;  ///< "step" for a program's own; of a job "stage", "layer", "queue", "copy", …
  std::string detail;    ///< of a layer: its kernel
  std::string op;        ///< of a layer: its operator
  int index = -1;        ///< of a layer: its place in the plan
  std::int64_t count = 0;
  std::int64_t total_ns = 0;  ///< over all threads
  std::int64_t cpu_ns = -1;   ///< of the threads inside; -1: not measured
  double mean = 0, median = 0, p95 = 0, p99 = 0, min = 0, max = 0;  ///< of one span, in seconds
  std::int64_t bytes = 0, operations = 0;                           ///< of all spans together, where known
};

/// Thread-safe but for construction and destruction, which no span may outlive.
class Profiler {
 public:
  /// Throws Error(invalid_argument) for negative numbers or fewer than one thread, std::bad_alloc.
  explicit Profiler(const ProfilerOptions& options = {});
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// A name for spans: get it once, before the loop.
  struct Timer {
    std::uint32_t id = 0;
  };
  /// `bytes` and `operations` are what each span moves and computes, for reports; 0: unknown.
  Timer timer(std::string_view name, std::int64_t bytes = 0, std::int64_t operations = 0);

  /// Lasts from its making to its end. Spans of a thread may lie in one another.
  class Span {
   public:
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    friend class Profiler;
    Span(trace::Recorder* recorder, Timer timer) noexcept;
    trace::Recorder* recorder_;  ///< null where nothing is recorded at the moment
    Timer timer_;
    std::int64_t start_ = 0;
  };
  [[nodiscard]] Span span(Timer timer) noexcept;
  /// A value at a time: the length of a queue, bytes in use.
  void count(Timer counter, std::int64_t value) noexcept;
  Timer counter(std::string_view name);

  /// A turn of the loop ends, the next one begins. Jobs do it by themselves, frame by frame.
  void step() noexcept;
  /// Whether spans of this turn are recorded.
  bool recording() const noexcept;
  /// Whether the schedule is over.
  bool done() const noexcept;

  std::vector<TimerReport> report() const;
  /// Spans for which there was no room: reports leave them out.
  std::int64_t lost() const noexcept;
  /// The report as a table, as JSON, and everything recorded in the Chrome trace format: see
  /// docs/profiling.md.
  std::string table() const;
  std::string json() const;
  std::string chrome_trace() const;
  /// Writes trace.json and profile.json into a folder, which is made if need be. Throws Error(io).
  void write(const std::filesystem::path& folder) const;

  trace::Recorder& recorder() noexcept { return *recorder_; }
  const trace::Recorder& recorder() const noexcept { return *recorder_; }

 private:
  std::unique_ptr<trace::Recorder> recorder_;
};

}  // namespace saccade
