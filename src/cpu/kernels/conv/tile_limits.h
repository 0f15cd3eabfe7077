// What tile.inl can do, for the code that prepares its work.
#pragma once

#include <cstddef>
#include <cstdint>

namespace saccade::cpu {

/// Most pixels of a tile.
inline constexpr std::int64_t kTilePixels = 12;

/// Into how many near-equal register blocks `vectors` vectors of filters are cut.
constexpr std::int64_t filter_blocks(std::int64_t vectors, int lanes) {
  const std::int64_t most = lanes == 16 ? 4 : vectors % 2 == 0 ? 2 : 3;
  return (vectors + most - 1) / most;
}

/// Bytes of scratch for the runs of `taps` taps: a Run, a ScatteredRun and a pointer a pixel each.
constexpr std::size_t tile_scratch(std::int64_t taps) {
  constexpr std::size_t kRun = 3 * sizeof(void*);
  return static_cast<std::size_t>(taps) * (2 * kRun + static_cast<std::size_t>(kTilePixels) * sizeof(void*));
}

}  // namespace saccade::cpu
