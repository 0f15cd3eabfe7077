// Who runs which tasks of a phase: each thread starts with a fixed part; one that has finished takes from
// those that have not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace saccade::runtime {

/// The shares of a team's threads in the phase under way. A share is one word: the phase's number, and the
/// tasks [begin, end) that nobody has taken. Nobody resets it: a word with another phase's number stands for
/// the whole share.
class TaskShares {
  static constexpr int kTaskBits = 22;
  static constexpr int kPhaseBits = 64 - 2 * kTaskBits;

 public:
  /// Phases of more tasks cannot be shared this way.
  static constexpr std::int64_t kMostTasks = (std::int64_t{1} << kTaskBits) - 1;
  /// Phase numbers start at 1 and count modulo this. A word that nobody touches for so many phases would be
  /// taken for a new one's; but its owner touches it once a run wherever it is not empty, and an empty one
  /// may be mistaken.
  static constexpr std::uint32_t kPhases = std::uint32_t{1} << kPhaseBits;

  struct Range {
    std::int64_t begin = 0, end = 0;
    bool empty() const noexcept { return begin >= end; }
  };

  explicit TaskShares(int threads);

  /// What `thread` starts with. Rounded up, so that a single task falls to thread 0.
  static Range whole(std::int64_t tasks, int thread, int threads) noexcept {
    return {(tasks * thread + threads - 1) / threads, (tasks * (thread + 1) + threads - 1) / threads};
  }

  /// The next tasks for `thread`: half of what is left of its own share, else half of what is left of
  /// another's; empty when all are taken. Any number of threads may call it at once; between the calls for
  /// one phase and those for the next lies a barrier. `tasks` <= kMostTasks.
  Range take(std::uint32_t phase, std::int64_t tasks, int thread) noexcept;

 private:
  struct alignas(64) Share {
    std::atomic<std::uint64_t> word{0};
  };

  Range take_from(std::uint32_t phase, std::int64_t tasks, int owner, bool front) noexcept;

  int threads_;
  std::unique_ptr<Share[]> shares_;
};

}  // namespace saccade::runtime
