#include "cpu/dilated_plan.h"

#include <algorithm>

#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu {

namespace {

bool meets_all_or_none(const ConvQuery& q, const std::vector<std::int64_t>& segments) {
  const auto side = [&](std::int64_t column) { return column < 0 ? -1 : column >= q.in_w ? 1 : 0; };
  for (std::size_t i = 1; i < segments.size(); ++i)
    for (std::int64_t k = 0; k < q.kernel_w; ++k) {
      const std::int64_t tap = k * q.dilation_w - q.pad_left;
      if (side(segments[i - 1] * q.stride_w + tap) != side((segments[i] - 1) * q.stride_w + tap))
        return false;
    }
  return true;
}

DilatedPlan cut_filters(const ConvQuery& q, int lanes, std::int64_t vectors, std::int64_t blocks) {
  const std::int64_t widest = (vectors + blocks - 1) / blocks;
  DilatedPlan plan{blocks, row_segments(q, tile_pixels(lanes, static_cast<int>(widest))), false};
  plan.even = meets_all_or_none(q, plan.segments);
  return plan;
}

// Of a row in tiles of at most `pixels` pixels, none of which takes less time than `least`: in that of a
// pixel.
std::int64_t row_time(const DilatedPlan& plan, std::int64_t pixels, std::int64_t least) {
  std::int64_t sum = 0;
  for (std::size_t i = 1; i < plan.segments.size(); ++i) {
    const Cut tiles = cut_pixels(plan.segments[i] - plan.segments[i - 1], pixels);
    sum += tiles.larger * std::max(tiles.size + 1, least) +
           (tiles.tiles - tiles.larger) * std::max(tiles.size, least);
  }
  return sum;
}

}  // namespace

DilatedPlan plan_dilated(const ConvQuery& q, int lanes, std::int64_t vectors, std::int64_t steps) {
  DilatedPlan wide = cut_filters(q, lanes, vectors, filter_blocks(vectors, lanes));
  constexpr std::int64_t kNearSteps = 96, kPixels = 6, kVectors = 2;
  if (lanes != 16 || steps < kNearSteps || vectors <= kVectors) return wide;
  DilatedPlan narrow = cut_filters(q, lanes, vectors, (vectors + kVectors - 1) / kVectors);
  const bool apart = narrow.even && row_time(narrow, 2 * kPixels, kPixels) < row_time(wide, kPixels, kPixels);
  return apart ? narrow : wide;
}

}  // namespace saccade::cpu
