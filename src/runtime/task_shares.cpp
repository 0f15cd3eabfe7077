#include "runtime/task_shares.h"

namespace saccade::runtime {

TaskShares::TaskShares(int threads)
    : threads_(threads), shares_(std::make_unique<Share[]>(static_cast<std::size_t>(threads))) {}

TaskShares::Range TaskShares::take_from(std::uint32_t phase, std::int64_t tasks, int owner,
                                        bool front) noexcept {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kTaskBits) - 1;
  const std::uint64_t number = phase % kPhases;
  std::atomic<std::uint64_t>& word = shares_[static_cast<std::size_t>(owner)].word;
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  for (;;) {
    Range left = whole(tasks, owner, threads_);
    if (seen >> (2 * kTaskBits) == number)
      left = {static_cast<std::int64_t>(seen >> kTaskBits & kMask), static_cast<std::int64_t>(seen & kMask)};
    if (left.empty()) return {};
    const std::int64_t half = (left.end - left.begin + 1) / 2;
    const Range taken = front ? Range{left.begin, left.begin + half} : Range{left.end - half, left.end};
    left = front ? Range{taken.end, left.end} : Range{left.begin, taken.begin};
    const std::uint64_t next = number << (2 * kTaskBits) |
                               static_cast<std::uint64_t>(left.begin) << kTaskBits |
                               static_cast<std::uint64_t>(left.end);
    // What the tasks read and write is ordered by the barriers around the phase.
    if (word.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return taken;
  }
}

TaskShares::Range TaskShares::take(std::uint32_t phase, std::int64_t tasks, int thread) noexcept {
  Range taken = take_from(phase, tasks, thread, true);
  for (int step = 1; step < threads_ && taken.empty(); ++step)
    taken = take_from(phase, tasks, (thread + step) % threads_, false);
  return taken;
}

}  // namespace saccade::runtime
