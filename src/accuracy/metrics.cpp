#include "accuracy/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace saccade::accuracy {

namespace {

double quotient(std::int64_t a, std::int64_t b) noexcept {
  return b == 0 ? 1 : static_cast<double>(a) / static_cast<double>(b);
}

bool counts(std::span<const std::uint8_t> valid, std::int64_t i) noexcept {
  return valid.empty() || valid[static_cast<std::size_t>(i)] != 0;
}

/// 1 for each pixel of the outline.
std::vector<std::uint8_t> outline_of(MaskView mask) {
  std::vector<std::uint8_t> outline(static_cast<std::size_t>(mask.count()));
  for (int y = 0; y < mask.height; ++y)
    for (int x = 0; x < mask.width; ++x) {
      const std::int64_t i = std::int64_t{y} * mask.width + x;
      if (!mask.foreground(i)) continue;
      const bool inside = (x == 0 || mask.foreground(i - 1)) &&
                          (x + 1 == mask.width || mask.foreground(i + 1)) &&
                          (y == 0 || mask.foreground(i - mask.width)) &&
                          (y + 1 == mask.height || mask.foreground(i + mask.width));
      outline[static_cast<std::size_t>(i)] = inside ? 0 : 1;
    }
  return outline;
}

/// Per pixel: steps along its row to the nearest outline pixel, `far` where there is none within as many.
std::vector<int> row_distances(const std::vector<std::uint8_t>& outline, int width, int height, int far) {
  std::vector<int> distance(outline.size(), far);
  for (int y = 0; y < height; ++y) {
    const std::size_t row = static_cast<std::size_t>(y) * static_cast<std::size_t>(width);
    int last = far;
    const auto visit = [&](int x) {
      const std::size_t i = row + static_cast<std::size_t>(x);
      last = outline[i] != 0 ? 0 : std::min(far, last + 1);
      distance[i] = std::min(distance[i], last);
    };
    for (int x = 0; x < width; ++x) visit(x);
    last = far;
    for (int x = width; x-- > 0;) visit(x);
  }
  return distance;
}

/// Outline pixels of `of` that have one of the other, whose row distances are given, within the tolerance.
std::int64_t near_count(const std::vector<std::uint8_t>& of, const std::vector<int>& distance, int width,
                        int height, int tolerance) {
  std::int64_t count = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const auto at = [&](int row) {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
      };
      if (of[at(y)] == 0) continue;
      bool found = false;
      for (int row = std::max(0, y - tolerance); row <= std::min(height - 1, y + tolerance) && !found;
           ++row) {
        const int dx = distance[at(row)], dy = row - y;
        found = dx <= tolerance && dx * dx + dy * dy <= tolerance * tolerance;
      }
      count += found ? 1 : 0;
    }
  return count;
}

}  // namespace

void Confusion::add(MaskView first, MaskView second, std::span<const std::uint8_t> valid) {
  for (std::int64_t i = 0; i < first.count(); ++i) {
    if (!counts(valid, i)) continue;
    const bool a = first.foreground(i), b = second.foreground(i);
    ++(a ? (b ? both : only_first) : (b ? only_second : neither));
  }
}

void Confusion::add(const Confusion& other) noexcept {
  both += other.both, only_first += other.only_first;
  only_second += other.only_second, neither += other.neither;
}

double Confusion::iou() const noexcept { return quotient(both, both + only_first + only_second); }

double Confusion::dice() const noexcept { return quotient(2 * both, 2 * both + only_first + only_second); }

double Confusion::mean_iou() const noexcept {
  return (iou() + quotient(neither, neither + only_first + only_second)) / 2;
}

double Confusion::changed() const noexcept {
  return all() == 0 ? 0 : static_cast<double>(only_first + only_second) / static_cast<double>(all());
}

int boundary_tolerance(int width, int height) noexcept {
  constexpr double kShare = 0.008;
  const double diagonal = std::hypot(static_cast<double>(width), static_cast<double>(height));
  return std::max(1, static_cast<int>(std::ceil(kShare * diagonal)));
}

void Boundary::add(MaskView a, MaskView b, int tolerance) {
  const std::vector<std::uint8_t> of_a = outline_of(a), of_b = outline_of(b);
  const int far = tolerance + 1;
  first += std::count(of_a.begin(), of_a.end(), 1);
  second += std::count(of_b.begin(), of_b.end(), 1);
  first_near += near_count(of_a, row_distances(of_b, a.width, a.height, far), a.width, a.height, tolerance);
  second_near += near_count(of_b, row_distances(of_a, a.width, a.height, far), a.width, a.height, tolerance);
}

double Boundary::f() const noexcept {
  if (first == 0 && second == 0) return 1;
  if (first == 0 || second == 0) return 0;
  const double a = quotient(first_near, first), b = quotient(second_near, second);
  return a + b == 0 ? 0 : 2 * a * b / (a + b);
}

void MatteError::add(MaskView first, MaskView second, std::span<const std::uint8_t> valid) {
  for (std::int64_t i = 0; i < first.count(); ++i) {
    if (!counts(valid, i)) continue;
    const double difference = std::abs(first.data[i] - second.data[i]) / 255.0;
    sum += difference, square_sum += difference * difference, ++count;
  }
}

}  // namespace saccade::accuracy
