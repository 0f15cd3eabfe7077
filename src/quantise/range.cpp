#include "quantise/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace saccade::quantise {

namespace {

constexpr std::int64_t kMostCells = 8192;
constexpr double kSteps = 255;
constexpr double kOutliers = 1e-4;

Range with_zero(double low, double high) {
  return {static_cast<float>(std::min(low, 0.0)), static_cast<float>(std::max(high, 0.0))};
}

Range extremes(const Histogram& h) {
  return with_zero(static_cast<double>(h.least()), static_cast<double>(h.greatest()));
}

/// The range without the outermost numbers, half of them at each end that is not 0.
Range percentile(const Histogram& h) {
  const Range all = extremes(h);
  const int ends = (all.low < 0 ? 1 : 0) + (all.high > 0 ? 1 : 0);
  if (ends == 0) return all;
  const double each = kOutliers * static_cast<double>(h.total()) / ends;
  const auto& cells = h.cells();
  const auto edge = [&](std::size_t i) {
    return static_cast<double>(h.first() + static_cast<std::int64_t>(i)) * h.width();
  };
  Range range = all;
  double seen = 0;
  for (std::size_t i = 0; all.low < 0 && i < cells.size(); ++i) {
    seen += static_cast<double>(cells[i]);
    if (seen <= each) continue;
    range.low = static_cast<float>(std::clamp(edge(i), static_cast<double>(all.low), 0.0));
    break;
  }
  seen = 0;
  for (std::size_t i = cells.size(); all.high > 0 && i-- > 0;) {
    seen += static_cast<double>(cells[i]);
    if (seen <= each) continue;
    range.high = static_cast<float>(std::clamp(edge(i + 1), 0.0, static_cast<double>(all.high)));
    break;
  }
  return range.low < 0 || range.high > 0 ? range : all;
}

/// Both ends are moved inwards, first together, then each on its own, as long as it helps.
template <class Loss>
Range narrowed(const Histogram& h, Loss loss) {
  constexpr int kParts = 64;
  const Range all = extremes(h);
  const auto at = [&](int low, int high) {
    return Range{all.low * static_cast<float>(low) / kParts, all.high * static_cast<float>(high) / kParts};
  };
  int low = kParts, high = kParts;
  double best = loss(all);
  const auto try_ends = [&](int a, int b) {
    if (a < 1 || b < 1 || a > kParts || b > kParts) return false;
    const double value = loss(at(a, b));
    if (!(value < best)) return false;
    best = value, low = a, high = b;
    return true;
  };
  for (int part = kParts - 1; part >= 1; --part) try_ends(part, part);
  if (all.low < 0 && all.high > 0)
    while (try_ends(low - 1, high) || try_ends(low, high - 1) || try_ends(low + 1, high) ||
           try_ends(low, high + 1)) {
    }
  return at(low, high);
}

/// Divergence of the numbers, put on the grid and spread evenly over the cells of each step that hold any,
/// from the numbers as they were, with what the range cuts off at its ends.
double divergence(const Histogram& h, const Range& range) {
  const Grid grid = grid_of(range);
  const auto& cells = h.cells();
  const auto step_of = [&](std::size_t i) {
    const double middle = (static_cast<double>(h.first() + static_cast<std::int64_t>(i)) + 0.5) * h.width();
    return static_cast<std::size_t>(
        std::clamp(std::nearbyint(middle / static_cast<double>(grid.scale)) + grid.zero, 0.0, kSteps));
  };
  std::array<double, 256> sums{}, filled{}, inside{};
  const auto is_inside = [&](std::size_t i) {
    const double middle = (static_cast<double>(h.first() + static_cast<std::int64_t>(i)) + 0.5) * h.width();
    return middle >= static_cast<double>(range.low) - h.width() &&
           middle <= static_cast<double>(range.high) + h.width();
  };
  double kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == 0) continue;
    const auto count = static_cast<double>(cells[i]);
    sums[step_of(i)] += count;
    if (!is_inside(i)) continue;
    inside[step_of(i)] += count, filled[step_of(i)] += 1, kept += count;
  }
  if (kept == 0) return std::numeric_limits<double>::infinity();
  // As it was: with what lies outside heaped upon the outermost cells. As it becomes: what lies inside only,
  // so that what was cut off is missed.
  double sum = 0;
  std::array<double, 256> heaped{};
  for (std::size_t s = 0; s < sums.size(); ++s) heaped[s] = sums[s] - inside[s];
  const auto total = static_cast<double>(h.total());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == 0 || !is_inside(i)) continue;
    const std::size_t s = step_of(i);
    const double was = (static_cast<double>(cells[i]) + heaped[s] / filled[s]) / total;
    const double becomes = inside[s] / filled[s] / kept;
    sum += was * std::log(was / becomes);
  }
  for (std::size_t s = 0; s < sums.size(); ++s)
    if (sums[s] > 0 && filled[s] == 0) return std::numeric_limits<double>::infinity();
  return sum;
}

}  // namespace

Grid grid_of(const Range& range) {
  const double low = std::min(static_cast<double>(range.low), 0.0),
               high = std::max(static_cast<double>(range.high), 0.0);
  const auto scale = static_cast<float>((high - low) / kSteps);
  // Numbers this small are none: any grid will do that has a zero.
  if (!(scale >= std::numeric_limits<float>::min()) || !std::isfinite(scale)) return {1.0f / 255, 0};
  return {scale, static_cast<std::int32_t>(
                     std::clamp(std::nearbyint(-low / static_cast<double>(scale)), 0.0, kSteps))};
}

void put_on_grid(std::span<const float> from, std::span<float> to, const Grid& grid) {
  // Adding and taking off 1.5 * 2^23 rounds to a whole number, ties to even.
  constexpr float kRounder = 12582912.0f;
  const auto low = static_cast<float>(-grid.zero), high = static_cast<float>(kSteps) + low;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float steps = std::min(std::max(from[i] / grid.scale, low), high);
    to[i] = ((steps + kRounder) - kRounder) * grid.scale;
  }
}

double Histogram::width() const noexcept { return std::ldexp(1.0, exponent_); }

void Histogram::coarsen() {
  const auto half = [](std::int64_t i) { return i >= 0 ? i / 2 : (i - 1) / 2; };
  const std::int64_t first = half(first_);
  std::vector<std::uint64_t> cells;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto to = static_cast<std::size_t>(half(first_ + static_cast<std::int64_t>(i)) - first);
    if (to >= cells.size()) cells.resize(to + 1);
    cells[to] += cells_[i];
  }
  first_ = first, cells_ = std::move(cells), ++exponent_;
}

/// Makes cells that hold both numbers, wider ones if there would be too many.
void Histogram::cover(float least, float greatest) {
  const auto cell = [&](float x) { return std::floor(std::ldexp(static_cast<double>(x), -exponent_)); };
  if (cells_.empty()) {
    const double span = std::max(
        static_cast<double>(greatest) - static_cast<double>(least),
        std::max(std::abs(static_cast<double>(least)), std::abs(static_cast<double>(greatest))) * 1e-6);
    exponent_ = span > 0 ? std::ilogb(span / kMostCells) + 1 : -126;
    while (cell(greatest) - cell(least) >= kMostCells) ++exponent_;
    first_ = static_cast<std::int64_t>(cell(least));
    cells_.assign(1, 0);
  }
  while (
      std::max(cell(greatest), static_cast<double>(first_ + static_cast<std::int64_t>(cells_.size()) - 1)) -
          std::min(cell(least), static_cast<double>(first_)) >=
      static_cast<double>(kMostCells))
    coarsen();
  const auto low = static_cast<std::int64_t>(cell(least)), high = static_cast<std::int64_t>(cell(greatest));
  if (low < first_) {
    cells_.insert(cells_.begin(), static_cast<std::size_t>(first_ - low), 0);
    first_ = low;
  }
  if (high >= first_ + static_cast<std::int64_t>(cells_.size()))
    cells_.resize(static_cast<std::size_t>(high - first_ + 1));
}

void Histogram::add(std::span<const float> values, std::size_t most) {
  float least = std::numeric_limits<float>::infinity(), greatest = -least;
  for (const float v : values)
    if (std::isfinite(v)) least = std::min(least, v), greatest = std::max(greatest, v);
  if (least > greatest) return;
  cover(least, greatest);
  least_ = total_ == 0 ? least : std::min(least_, least);
  greatest_ = total_ == 0 ? greatest : std::max(greatest_, greatest);
  // An odd step walks through all channels, however many there are.
  std::size_t step = most == 0 ? values.size() : (values.size() + most - 1) / most;
  step |= step > 1 ? 1u : 0u;
  const double inverse = std::ldexp(1.0, -exponent_);
  for (std::size_t i = 0; i < values.size(); i += step) {
    if (!std::isfinite(values[i])) continue;
    const auto cell = static_cast<std::int64_t>(std::floor(static_cast<double>(values[i]) * inverse));
    ++cells_[static_cast<std::size_t>(cell - first_)];
    ++total_;
  }
}

void Histogram::add(const Histogram& other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  Histogram added = other;
  cover(other.least_, other.greatest_);
  while (added.exponent_ < exponent_) added.coarsen();
  while (exponent_ < added.exponent_) coarsen();
  const std::int64_t end = added.first_ + static_cast<std::int64_t>(added.cells_.size());
  if (added.first_ < first_) {
    cells_.insert(cells_.begin(), static_cast<std::size_t>(first_ - added.first_), 0);
    first_ = added.first_;
  }
  if (end > first_ + static_cast<std::int64_t>(cells_.size()))
    cells_.resize(static_cast<std::size_t>(end - first_));
  for (std::size_t i = 0; i < added.cells_.size(); ++i)
    cells_[static_cast<std::size_t>(added.first_ - first_) + i] += added.cells_[i];
  total_ += added.total_;
  least_ = std::min(least_, added.least_), greatest_ = std::max(greatest_, added.greatest_);
}

const char* estimator_name(Estimator estimator) noexcept {
  constexpr std::array kNames = {"extremes", "percentile", "error", "entropy"};
  return kNames[static_cast<std::size_t>(estimator)];
}

double squared_error(const Histogram& h, const Range& range) {
  const Grid grid = grid_of(range);
  const auto scale = static_cast<double>(grid.scale);
  // What the steps reach, which is the range but for the rounding of its zero.
  const double low = -grid.zero * scale, high = (kSteps - grid.zero) * scale;
  const double rounding = scale * scale / 12;
  double sum = 0;
  for (std::size_t i = 0; i < h.cells().size(); ++i) {
    if (h.cells()[i] == 0) continue;
    const double x =
        std::clamp((static_cast<double>(h.first() + static_cast<std::int64_t>(i)) + 0.5) * h.width(),
                   static_cast<double>(h.least()), static_cast<double>(h.greatest()));
    const double beyond = x < low ? low - x : x > high ? x - high : 0;
    // A cell at 0 is mostly zeros, which are exact.
    const bool zeros = h.first() + static_cast<std::int64_t>(i) == 0 && h.width() < scale / 2;
    sum += static_cast<double>(h.cells()[i]) * (beyond > 0 ? beyond * beyond : zeros ? 0 : rounding);
  }
  return h.total() == 0 ? 0 : sum / static_cast<double>(h.total());
}

Range estimate(const Histogram& h, Estimator estimator) {
  const Range all = extremes(h);
  if (h.empty() || !(all.high - all.low > 0)) return {0, 1};
  switch (estimator) {
    case Estimator::extremes:
      return all;
    case Estimator::percentile:
      return percentile(h);
    case Estimator::error:
      return narrowed(h, [&](const Range& range) { return squared_error(h, range); });
    case Estimator::entropy:
      return narrowed(h, [&](const Range& range) { return divergence(h, range); });
  }
  return all;
}

}  // namespace saccade::quantise
