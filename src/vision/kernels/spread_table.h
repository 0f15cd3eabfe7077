// How a short row of 15-bit values is enlarged: shared by the kernels of the mask and of the compositing.
#pragma once

#include <cstdint>

namespace saccade::vision {

/// See Spread. Arrays are filled up to a multiple of 64 targets.
struct SpreadTable {
  int count;
  const std::int32_t* index;   ///< left neighbour of each target
  const std::int16_t* weight;  ///< of the right neighbour, in 1 / 2^15
  const std::int32_t*
      base;  ///< per 8 targets: where a window of 8 values starts; null: windows do not suffice
  const std::uint8_t* shuffle;  ///< per target 2 byte positions within that window
  const std::uint16_t* place;   ///< per target its left neighbour's distance, at most 31, from that of the
                                ///< first of its 32 targets; null: some lie further
};

}  // namespace saccade::vision
