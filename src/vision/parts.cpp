#include "vision/parts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

#include "base/job_limits.h"
#include "saccade/error.h"

namespace saccade::vision {

namespace {

/// Standard deviation of a window's weights, as a share of its size.
constexpr double kSigma = 1.0 / 8;
using job_limits::kMostOverlap;

int rounded_up(int value, int multiple) noexcept { return (value + multiple - 1) / multiple * multiple; }

double gaussian(int i, int size) noexcept {
  const double d = (i + 0.5 - size / 2.0) / (kSigma * size);
  return std::exp(-0.5 * d * d);
}

/// Weights of all parts that hold a pixel sum to one.
void weigh(PartsAxis& axis) {
  std::vector<double> sums(static_cast<std::size_t>(axis.out), 0.0);
  for (const Part& part : axis.parts)
    for (int i = 0; i < axis.part_out; ++i)
      sums[static_cast<std::size_t>(part.out_begin + i)] += gaussian(i, axis.part_out);
  for (Part& part : axis.parts) {
    part.first = part.out_begin;
    part.last = part.out_begin + axis.part_out;
    for (int i = 0; i < axis.part_out; ++i)
      part.weights.push_back(static_cast<float>(gaussian(i, axis.part_out) /
                                                sums[static_cast<std::size_t>(part.out_begin + i)]));
  }
}

/// Neighbours meet in the middle of what they share.
void divide(PartsAxis& axis) {
  for (std::size_t i = 0; i < axis.parts.size(); ++i) {
    Part& part = axis.parts[i];
    part.first = i == 0 ? 0 : axis.parts[i - 1].last;
    part.last = i + 1 == axis.parts.size()
                    ? axis.out
                    : (part.out_begin + axis.part_out + axis.parts[i + 1].out_begin) / 2;
  }
}

}  // namespace

int least_tile(const TileRule& rule) noexcept {
  const std::int64_t step = rule.step_in;
  const std::int64_t wrong = (std::int64_t{rule.before} + rule.after) * step;
  const auto pixels = static_cast<int>((wrong + rule.step_out - 1) / rule.step_out);
  return rounded_up(pixels, rule.period) + rule.period;
}

PartsAxis tile_axis(int pixels, int tile, const TileRule& rule) {
  PartsAxis axis;
  axis.pixels = pixels;
  axis.part = tile;
  axis.padded = std::max(rounded_up(pixels, rule.period), tile);
  axis.step_in = rule.step_in;
  axis.step_out = rule.step_out;
  const auto result = [&](int n) { return static_cast<int>(std::int64_t{n} * rule.step_out / rule.step_in); };
  axis.part_out = result(tile);
  axis.out = result(axis.padded);
  const int period = result(rule.period);
  if (axis.padded > tile && tile < least_tile(rule))
    throw Error(ErrorCode::invalid_argument, "tiles of " + std::to_string(tile) +
                                                 " pixels are smaller than what each pixel looks at; " +
                                                 std::to_string(least_tile(rule)) + " is the least");
  int done = 0;
  while (done < axis.out) {
    Part part;
    part.out_begin = axis.parts.empty() ? 0 : (done - rule.before) / period * period;
    part.out_begin = std::min(part.out_begin, axis.out - axis.part_out);
    part.first = done;
    const int end = part.out_begin + axis.part_out;
    part.last = end == axis.out ? end : end - rule.after;
    part.begin = static_cast<int>(std::int64_t{part.out_begin} * rule.step_in / rule.step_out);
    done = part.last;
    axis.parts.push_back(std::move(part));
  }
  return axis;
}

PartsAxis window_axis(int pixels, int window, int result, double overlap, bool weighted) {
  if (!(overlap >= 0 && overlap <= kMostOverlap))
    throw Error(ErrorCode::invalid_argument,
                "window overlap " + std::to_string(overlap) + ": must be within 0 and 0.95");
  if (window < 1 || result < 1)
    throw Error(ErrorCode::invalid_argument, "a window of " + std::to_string(window) +
                                                 " pixels with a result of " + std::to_string(result));
  PartsAxis axis;
  axis.pixels = pixels;
  axis.part = window;
  const int common = std::gcd(window, result);
  axis.step_in = window / common;
  axis.step_out = result / common;
  const int most = std::max(1, static_cast<int>(window * (1 - overlap)));  // from one window to the next
  if (axis.step_in > most) {
    // Windows would have to lie too far apart for their results' pixels to meet.
    axis.enlarged = true;
    axis.step_in = axis.step_out = 1;
    result = window;
  }
  axis.part_out = result;
  axis.padded = std::max(rounded_up(pixels, axis.step_in), window);
  const int unit = axis.step_in;  // windows begin at multiples of it
  const int way = (axis.padded - window) / unit, stride = most / unit;
  const int count = way == 0 ? 1 : (way + stride - 1) / stride + 1;
  axis.out = axis.padded / axis.step_in * axis.step_out;
  for (int i = 0; i < count; ++i) {
    Part part;
    const int at = count == 1 ? 0 : static_cast<int>(std::int64_t{i} * way / (count - 1));
    part.begin = at * unit;
    part.out_begin = at * axis.step_out;
    axis.parts.push_back(std::move(part));
  }
  if (weighted)
    weigh(axis);
  else
    divide(axis);
  return axis;
}

}  // namespace saccade::vision
