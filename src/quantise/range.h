// Which range of real numbers the 256 steps of a byte stand for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace saccade::quantise {

/// Always holds 0, so that padding and the results of a ReLU are exact.
struct Range {
  float low = 0, high = 0;
};

/// q = round(x / scale) + zero, saturated to 0 … 255.
struct Grid {
  float scale = 1;
  std::int32_t zero = 0;
  bool operator==(const Grid&) const = default;
};
Grid grid_of(const Range& range);
/// What numbers become when they are quantised and made real again; `to` may be `from`.
void put_on_grid(std::span<const float> from, std::span<float> to, const Grid& grid);

/// How often numbers were seen. Cells are as wide as a power of two and lie at its multiples, so that two
/// histograms of anything can be added, and the result does not depend on the order.
class Histogram {
 public:
  /// Numbers that are not finite do not count. Of more than `most` numbers every n-th enters the cells; the
  /// extremes are always those of all.
  void add(std::span<const float> values, std::size_t most = kDefaultMost);
  void add(const Histogram& other);

  static constexpr std::size_t kDefaultMost = std::size_t{1} << 18;

  bool empty() const noexcept { return total_ == 0; }
  float least() const noexcept { return least_; }
  float greatest() const noexcept { return greatest_; }
  std::uint64_t total() const noexcept { return total_; }
  /// Cell i reaches from (first() + i) * width() to (first() + i + 1) * width().
  double width() const noexcept;
  std::int64_t first() const noexcept { return first_; }
  const std::vector<std::uint64_t>& cells() const noexcept { return cells_; }

 private:
  void cover(float least, float greatest);
  void coarsen();

  int exponent_ = 0;  // of the width
  std::int64_t first_ = 0;
  std::vector<std::uint64_t> cells_;
  std::uint64_t total_ = 0;
  float least_ = 0, greatest_ = 0;
};

/// Ways to choose a range.
enum class Estimator : std::uint8_t {
  extremes,    ///< all that was seen
  percentile,  ///< all but one number in 10,000
  error,       ///< the least mean squared error of the numbers themselves
  entropy,     ///< the least loss of information (Kullback-Leibler divergence)
};
inline constexpr std::array kEstimators = {Estimator::extremes, Estimator::percentile, Estimator::error,
                                           Estimator::entropy};
const char* estimator_name(Estimator estimator) noexcept;

/// Of an empty histogram, or one of zeros: 0 … 1.
Range estimate(const Histogram& histogram, Estimator estimator);

/// Mean squared error that a range would bring the histogram's numbers.
double squared_error(const Histogram& histogram, const Range& range);

}  // namespace saccade::quantise
