#include "trace/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace saccade::trace {

namespace {

constexpr std::size_t kLine = 64;

/// What the calling thread used last. A recorder is known by its address and the time it was made at.
struct LastUsed {
  const Recorder* recorder = nullptr;
  Recorder::Clock::time_point start;
  void* buffer = nullptr;
};
thread_local LastUsed last_used;

}  // namespace

const char* category_name(Category category) noexcept {
  switch (category) {
    case Category::stage:
      return "stage";
    case Category::step:
      return "step";
    case Category::layer:
      return "layer";
    case Category::queue:
      return "queue";
    case Category::barrier:
      return "barrier";
    case Category::copy:
      return "copy";
    case Category::to_device:
      return "to_device";
    case Category::to_host:
      return "to_host";
    case Category::counter:
      return "counter";
  }
  return "?";
}

bool Schedule::wants(std::int64_t turn) const noexcept {
  const std::int64_t quiet = wait + warmup;
  if (active <= 0) return turn >= quiet;
  const std::int64_t cycle = quiet + active;
  if (repeat > 0 && turn >= cycle * repeat) return false;
  return turn % cycle >= quiet;
}

std::int64_t Schedule::turns() const noexcept {
  return active > 0 && repeat > 0 ? (wait + warmup + active) * repeat : 0;
}

struct alignas(kLine) Recorder::Buffer {
  std::unique_ptr<Event[]> events;
  std::atomic<std::size_t> count{0};
  std::atomic<std::int64_t> lost{0};
  std::atomic<long> thread{0};
  // Only its thread looks at these.
  std::int64_t frame = -1;
  bool frame_wanted = true;
};

Recorder::Recorder(const RecorderOptions& options) : options_(options) {
  options_.threads = std::max(1, options.threads);
  options_.events_a_thread = std::max<std::size_t>(1, options.events_a_thread);
  buffers_ = std::make_unique<Buffer[]>(static_cast<std::size_t>(options_.threads));
  // Not touched here: pages that no event comes to are never used.
  for (int i = 0; i < options_.threads; ++i)
    buffers_[static_cast<std::size_t>(i)].events.reset(new Event[options_.events_a_thread]);
  turn_wanted_.store(options_.schedule.wants(0), std::memory_order_relaxed);
}

Recorder::~Recorder() = default;

NameId Recorder::name(const NameInfo& info) {
  const std::lock_guard lock(names_mutex_);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].text == info.text && names_[i].category == info.category && names_[i].index == info.index)
      return static_cast<NameId>(i);
  }
  names_.push_back(info);
  return static_cast<NameId>(names_.size() - 1);
}

const NameInfo& Recorder::info(NameId name) const {
  const std::lock_guard lock(names_mutex_);
  return names_.at(name);
}

Recorder::Buffer* Recorder::buffer() noexcept {
  LastUsed& last = last_used;
  if (last.recorder == this && last.start == start_) return static_cast<Buffer*>(last.buffer);
  Buffer* found = claim();
  last = {this, start_, found};
  return found;
}

Recorder::Buffer* Recorder::claim() noexcept {
  const long thread = ::syscall(SYS_gettid);
  const int taken = std::min(claimed_.load(std::memory_order_acquire), options_.threads);
  for (int i = 0; i < taken; ++i) {  // it may have used another recorder meanwhile
    Buffer& each = buffers_[static_cast<std::size_t>(i)];
    if (each.thread.load(std::memory_order_acquire) == thread) return &each;
  }
  const int index = claimed_.fetch_add(1, std::memory_order_acq_rel);
  if (index >= options_.threads) {
    claimed_.fetch_sub(1, std::memory_order_acq_rel);
    return nullptr;
  }
  Buffer& mine = buffers_[static_cast<std::size_t>(index)];
  mine.thread.store(thread, std::memory_order_release);
  return &mine;
}

void Recorder::append(Buffer& lane, const Event& event) noexcept {
  const std::size_t count = lane.count.load(std::memory_order_relaxed);
  if (count == options_.events_a_thread) {
    lane.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  lane.events[count] = event;
  lane.count.store(count + 1, std::memory_order_release);
}

bool Recorder::recording() noexcept {
  const Buffer* lane = buffer();
  if (lane != nullptr && lane->frame >= 0) return lane->frame_wanted;
  return turn_wanted_.load(std::memory_order_relaxed);
}

void Recorder::record(NameId name, std::int64_t start, std::int64_t end, std::int64_t cpu,
                      std::int64_t bytes) noexcept {
  if (!recording()) return;
  Buffer* lane = buffer();
  if (lane == nullptr) {
    homeless_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  append(*lane, {start, end, lane->frame, cpu, bytes, name});
}

void Recorder::record_of_frame(std::int64_t frame, NameId name, std::int64_t start,
                               std::int64_t end) noexcept {
  const std::int64_t before = enter_frame(frame);
  record(name, start, end);
  enter_frame(before);
}

void Recorder::count(NameId counter, std::int64_t value) noexcept {
  const std::int64_t time = now();
  record(counter, time, time, -1, value);
}

std::int64_t Recorder::enter_frame(std::int64_t frame) noexcept {
  Buffer* lane = buffer();
  if (lane == nullptr) return -1;
  const std::int64_t before = lane->frame;
  lane->frame = frame;
  lane->frame_wanted = options_.schedule.wants(frame);
  return before;
}

std::int64_t Recorder::frame() noexcept {
  const Buffer* lane = buffer();
  return lane != nullptr ? lane->frame : -1;
}

void Recorder::step() noexcept {
  const std::int64_t turn = turn_.fetch_add(1, std::memory_order_relaxed) + 1;
  turn_wanted_.store(options_.schedule.wants(turn), std::memory_order_relaxed);
}

std::vector<Recorder::Lane> Recorder::lanes() const {
  std::vector<Lane> lanes;
  const int taken = std::min(claimed_.load(std::memory_order_acquire), options_.threads);
  for (int i = 0; i < taken; ++i) {
    const Buffer& each = buffers_[static_cast<std::size_t>(i)];
    const std::size_t count = each.count.load(std::memory_order_acquire);
    if (count > 0)
      lanes.push_back({each.thread.load(std::memory_order_acquire), std::span(each.events.get(), count)});
  }
  return lanes;
}

std::vector<NameInfo> Recorder::names() const {
  const std::lock_guard lock(names_mutex_);
  return {names_.begin(), names_.end()};
}

std::int64_t Recorder::lost() const noexcept {
  std::int64_t lost = homeless_.load(std::memory_order_relaxed);
  for (int i = 0; i < options_.threads; ++i)
    lost += buffers_[static_cast<std::size_t>(i)].lost.load(std::memory_order_relaxed);
  return lost;
}

}  // namespace saccade::trace
