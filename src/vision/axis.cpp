#include "vision/axis.h"

#include <algorithm>
#include <cmath>

namespace saccade::vision {

namespace {

// From a luma position of the upright picture to an index of the stored component (may be fractional).
double stored_index(const AxisSpec& spec, double position) noexcept {
  const double luma = spec.flip ? spec.extent - 1 - position : position;
  return (luma - spec.first) / (1 << spec.shift);
}

struct Position {
  double luma;      // of the upright picture
  double coverage;  // part of the filter that lies within the picture
};

// Sample i sits at i * extent / count without the half pixel, in steps of 1/32; one cell beyond the last
// sample the picture has faded to zero.
Position mediapipe_position(const AxisSpec& spec, int i) noexcept {
  const double position = std::nearbyint(i * spec.ratio * 32) / 32;
  const double last = spec.extent - 1;
  if (position <= last) return {position, 1};
  return {last, std::max(0.0, 1 - (position - last))};
}

// The middle of target i, in the source's luma positions.
double middle(const AxisSpec& spec, int i) noexcept {
  return (spec.first_target + i * spec.target_step + 0.5) * spec.ratio - 0.5 + spec.origin;
}

}  // namespace

LinearAxis make_linear_axis(const AxisSpec& spec, ResizeRule rule) {
  LinearAxis axis;
  const auto count = static_cast<std::size_t>(spec.count);
  axis.single = spec.samples == 1;
  axis.index.resize(count);
  axis.weight.resize(2 * count);
  axis.fraction.resize(count);
  bool covered = true;
  std::vector<float> coverage(count, 1.0f);
  for (std::size_t i = 0; i < count; ++i) {
    const int target = static_cast<int>(i);
    const Position p =
        rule == ResizeRule::mediapipe ? mediapipe_position(spec, target) : Position{middle(spec, target), 1};
    const double at = std::clamp(stored_index(spec, p.luma), 0.0, static_cast<double>(spec.samples - 1));
    // The pair never reaches past the last sample: there it is (last - 1, last) with all weight on the
    // second.
    const int base = std::clamp(static_cast<int>(at), 0, std::max(0, spec.samples - 2));
    const double fraction = axis.single ? 0 : at - base;
    const auto second = static_cast<std::int16_t>(std::lround(fraction * kWeightOne));
    axis.index[i] = base;
    axis.weight[2 * i] = static_cast<std::int16_t>(kWeightOne - second);
    axis.weight[2 * i + 1] = second;
    axis.fraction[i] = static_cast<float>(fraction);
    coverage[i] = static_cast<float>(p.coverage);
    covered = covered && p.coverage == 1;
  }
  if (!covered) axis.coverage = std::move(coverage);
  return axis;
}

bool shrinks(const AxisSpec& spec) noexcept {
  return spec.target_step * spec.ratio > (1 << spec.shift) + 1e-9;
}

BoxAxis make_box_axis(const AxisSpec& spec) {
  BoxAxis axis;
  const double half_width = spec.target_step * spec.ratio / 2;
  axis.offset.push_back(0);
  for (int i = 0; i < spec.count; ++i) {
    // The target covers the picture up to half its width on both sides; here in coordinates where sample k
    // covers k to k + 1.
    double a = stored_index(spec, middle(spec, i) - half_width) + 0.5;
    double b = stored_index(spec, middle(spec, i) + half_width) + 0.5;
    if (a > b) std::swap(a, b);
    const int first = static_cast<int>(std::floor(a)), last = static_cast<int>(std::ceil(b)) - 1;
    const int low = std::clamp(first, 0, spec.samples - 1), high = std::clamp(last, 0, spec.samples - 1);
    const std::size_t start = axis.weight.size();
    axis.begin.push_back(low);
    axis.weight.resize(start + static_cast<std::size_t>(high - low + 1), 0.0f);
    for (int k = first; k <= last; ++k) {
      const double part = std::min(b, k + 1.0) - std::max(a, static_cast<double>(k));
      if (part <= 0) continue;
      // Beyond the edge the outermost sample stands in.
      const int sample = std::clamp(k, low, high);
      axis.weight[start + static_cast<std::size_t>(sample - low)] += static_cast<float>(part / (b - a));
    }
    axis.offset.push_back(static_cast<std::int32_t>(axis.weight.size()));
  }
  return axis;
}

}  // namespace saccade::vision
