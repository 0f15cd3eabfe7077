// What happened when, on which thread and for which frame. Threads write into buffers of their own, which are
// there before the first event: nobody waits for anybody, nothing is allocated. Where no recorder is given,
// nothing but a pointer is looked at.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace saccade::trace {

/// What a name stands for. Spans of `layer` and `copy` lie inside those of a stage, `step` inside anything.
enum class Category : std::uint8_t {
  stage,      ///< a part of a job
  step,       ///< a part of a stage, or of a program's own loop
  layer,      ///< a step of a network
  queue,      ///< a frame waits for its next stage; on no thread
  barrier,    ///< a thread waits for those that share its work
  copy,       ///< bytes are moved in memory
  to_device,  ///< bytes go to an accelerator's memory
  to_host,    ///< bytes come from there
  counter,    ///< `bytes` of an event is a value at a time
};
const char* category_name(Category category) noexcept;

struct NameInfo {
  std::string text;
  Category category = Category::stage;
  std::string detail = {};      ///< of a layer: its kernel
  std::string op = {};          ///< of a layer: its operator
  int index = -1;               ///< of a layer: its place in the plan
  std::int64_t bytes = 0;       ///< moved by each span, where that is known beforehand
  std::int64_t operations = 0;  ///< computed by each span, a multiply-add being two
};

using NameId = std::uint32_t;

/// Times in nanoseconds since the recorder was made. Plain data: buffers of it stay untouched until used.
struct Event {
  std::int64_t start, end;
  std::int64_t frame;  ///< negative: none
  std::int64_t cpu;    ///< of the thread meanwhile; negative: not measured
  std::int64_t bytes;  ///< beyond those of the name; of a counter: its value
  NameId name;
};

/// Of turns 0, 1, …: `wait` are left out, `warmup` run as if recorded but are left out as well, `active` are
/// recorded; then again. 0 `active`: all that follow. 0 `repeat`: without end.
struct Schedule {
  std::int64_t wait = 0, warmup = 0, active = 0, repeat = 0;

  bool wants(std::int64_t turn) const noexcept;
  /// Turns until nothing is recorded any more; 0: that never comes.
  std::int64_t turns() const noexcept;
};

struct RecorderOptions {
  std::size_t events_a_thread = std::size_t{1} << 16;
  int threads = 64;  ///< that record at most; what further ones do is lost, and counted
  Schedule schedule;
};

class Recorder {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws std::bad_alloc.
  explicit Recorder(const RecorderOptions& options = {});
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The name for such spans; the same one for the same text, category and index. Thread-safe, not for inner
  /// loops.
  NameId name(const NameInfo& info);
  /// Of a name that was given out; stays where it is.
  const NameInfo& info(NameId name) const;

  std::int64_t now() const noexcept { return since_start(Clock::now()); }
  std::int64_t since_start(Clock::time_point time) const noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - start_).count();
  }

  /// Whether the calling thread's events are kept at the moment: those of the frame it is in, or else of the
  /// turn.
  bool recording() noexcept;
  /// Keeps the event where `recording`, with the calling thread's frame unless it has one of its own.
  void record(NameId name, std::int64_t start, std::int64_t end, std::int64_t cpu = -1,
              std::int64_t bytes = 0) noexcept;
  /// An event of a frame that no thread is in.
  void record_of_frame(std::int64_t frame, NameId name, std::int64_t start, std::int64_t end) noexcept;
  void count(NameId counter, std::int64_t value) noexcept;

  /// The frame that the calling thread works on from now on; -1: none. Returns the one before.
  std::int64_t enter_frame(std::int64_t frame) noexcept;
  std::int64_t frame() noexcept;

  /// For loops without frames: the next turn begins.
  void step() noexcept;
  std::int64_t turn() const noexcept { return turn_.load(std::memory_order_relaxed); }
  const Schedule& schedule() const noexcept { return options_.schedule; }

  /// Events of one thread, in the order in which they ended.
  struct Lane {
    long thread = 0;  ///< the system's number
    std::span<const Event> events;
  };
  /// What was recorded so far. Safe beside threads that record.
  std::vector<Lane> lanes() const;
  std::vector<NameInfo> names() const;
  /// Events that found no room.
  std::int64_t lost() const noexcept;

 private:
  struct Buffer;
  Buffer* buffer() noexcept;
  Buffer* claim() noexcept;
  void append(Buffer& lane, const Event& event) noexcept;

  RecorderOptions options_;
  Clock::time_point start_ = Clock::now();
  std::unique_ptr<Buffer[]> buffers_;
  std::atomic<int> claimed_{0};
  std::atomic<std::int64_t> homeless_{0};
  std::atomic<std::int64_t> turn_{0};
  std::atomic<bool> turn_wanted_{true};
  mutable std::mutex names_mutex_;
  std::deque<NameInfo> names_;
};

/// A frame's stay on the calling thread. `recorder` may be null.
class FrameScope {
 public:
  FrameScope(Recorder* recorder, std::int64_t frame) noexcept
      : recorder_(recorder), before_(recorder != nullptr ? recorder->enter_frame(frame) : -1) {}
  ~FrameScope() {
    if (recorder_ != nullptr) recorder_->enter_frame(before_);
  }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  Recorder* recorder_;
  std::int64_t before_;
};

/// Records the time of its own life. `recorder` may be null.
class Span {
 public:
  Span(Recorder* recorder, NameId name, std::int64_t bytes = 0) noexcept
      : recorder_(recorder), name_(name), bytes_(bytes), start_(recorder != nullptr ? recorder->now() : 0) {}
  ~Span() {
    if (recorder_ != nullptr) recorder_->record(name_, start_, recorder_->now(), -1, bytes_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Recorder* recorder_;
  NameId name_;
  std::int64_t bytes_;
  std::int64_t start_;
};

}  // namespace saccade::trace
