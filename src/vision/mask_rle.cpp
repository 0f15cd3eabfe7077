#include "vision/mask_rle.h"

#include <algorithm>
#include <cstring>

namespace saccade::vision {

namespace {

/// Calls `change(x)` for every pixel of row y whose side differs from the pixel above it.
template <class T, class Change>
void compare_rows(const T* above, const T* row, int width, T half, const Change& change) {
  constexpr int kStep = static_cast<int>(sizeof(std::uint64_t) / sizeof(T));
  int x = 0;
  while (x < width) {
    // Most of a mask repeats from row to row.
    if (x + kStep <= width && std::memcmp(above + x, row + x, sizeof(std::uint64_t)) == 0) {
      x += kStep;
      continue;
    }
    const int end = std::min(x + kStep, width);
    for (; x < end; ++x) {
      if ((above[x] > half) != (row[x] > half)) change(x);
    }
  }
}

template <class T>
MaskRuns runs_of(const ConstPlaneView& alpha) {
  MaskRuns runs;
  runs.width = alpha.width;
  runs.height = alpha.height;
  const T half = static_cast<T>(((1 << alpha.depth) - 1) / 2);
  // A column's changes of side from top to bottom; above each column lies background.
  std::vector<std::vector<std::uint32_t>> changes(static_cast<std::size_t>(alpha.width));
  const std::vector<T> nothing(static_cast<std::size_t>(alpha.width), T{0});
  const T* above = nothing.data();
  for (int y = 0; y < alpha.height; ++y) {
    const T* row = reinterpret_cast<const T*>(alpha.data + alpha.stride * y);
    compare_rows(above, row, alpha.width, half, [&](int x) {
      changes[static_cast<std::size_t>(x)].push_back(static_cast<std::uint32_t>(y));
    });
    above = row;
  }
  const auto height = static_cast<std::uint32_t>(alpha.height);
  bool inside = false;  // the side of the run that is being counted
  std::uint32_t run = 0;
  runs.left = alpha.width;
  runs.top = alpha.height;
  const auto close = [&] {
    runs.counts.push_back(run);
    run = 0;
    inside = !inside;
  };
  for (int x = 0; x < alpha.width; ++x) {
    const auto& column = changes[static_cast<std::size_t>(x)];
    bool side = false;
    std::uint32_t from = 0;
    const auto stretch = [&](std::uint32_t to) {
      if (to == from) return;
      if (side != inside) close();
      run += to - from;
      if (side) {
        runs.area += to - from;
        runs.left = std::min(runs.left, x);
        runs.right = x + 1;
        runs.top = std::min(runs.top, static_cast<int>(from));
        runs.bottom = std::max(runs.bottom, static_cast<int>(to));
      }
      from = to;
    };
    for (const std::uint32_t y : column) {
      stretch(y);
      side = !side;
    }
    stretch(height);
  }
  runs.counts.push_back(run);
  if (runs.area == 0) runs.left = runs.top = 0;
  return runs;
}

}  // namespace

MaskRuns mask_runs(const ConstPlaneView& alpha) {
  return alpha.depth > 8 ? runs_of<std::uint16_t>(alpha) : runs_of<std::uint8_t>(alpha);
}

std::string compressed_counts(const std::vector<std::uint32_t>& counts) {
  // Each count, from the fourth on less the one two before it, in groups of five bits from the lowest; bit 5
  // says that more follow, the last group's bit 4 is the sign, and 48 brings all into printable characters.
  constexpr std::int64_t kGroup = 31, kSign = 16, kMore = 32, kFirst = 48;
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::int64_t value = counts[i];
    if (i > 2) value -= counts[i - 2];
    bool more = true;
    while (more) {
      std::int64_t group = value & kGroup;
      value >>= 5;
      more = value != ((group & kSign) != 0 ? -1 : 0);
      if (more) group |= kMore;
      text.push_back(static_cast<char>(group + kFirst));
    }
  }
  return text;
}

}  // namespace saccade::vision
