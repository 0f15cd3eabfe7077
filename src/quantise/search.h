// Which layers go back to single precision, and whether the rest is worth it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace saccade::quantise {

/// What it would change if a layer went back to single precision.
struct LayerGain {
  std::string name;
  double error = 0;  ///< that goes away
  double time = 0;   ///< that it costs; 0 or less: it saves time
};

/// Layers in the order in which they go back: those that save time first, then by error for time.
std::vector<std::string> reverting_order(std::vector<LayerGain> layers);

/// The shortest beginning of `order` with which `fits` holds, found by halving; nothing where only all of it
/// would do, which leaves nothing to lower. `fits` is asked about ten times.
std::optional<std::vector<std::string>> revert_until(
    const std::vector<std::string>& order, const std::function<bool(const std::vector<std::string>&)>& fits);

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
