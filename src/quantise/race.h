// Which of several ways to do the same is fastest, in spite of noise.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace saccade::quantise {

/// Median times of several ways to do the same, run in turns so that what disturbs the machine disturbs all.
class Race {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;
  explicit Race(Clock clock = {});
  /// Each runner once in a row, forwards and backwards, for about `total`, at least `rounds` times.
  void run(const std::vector<std::function<void()>>& runners, std::chrono::nanoseconds total, int rounds = 7);
  double median_ns(std::size_t runner) const;
  /// Faster by more than the noise: by 3 % in the median and in at least three of four rounds.
  bool faster(std::size_t runner, std::size_t than) const;

 private:
  Clock clock_;
  std::vector<std::vector<double>> times_;  // per runner and round
};

}  // namespace saccade::quantise
