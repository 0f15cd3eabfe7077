// How the convolutions of bytes bring their input into shape. Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu {

/// How a strip of the input is brought into the order and the type that the products want. Rows of the strip
/// are `slots`: output row y (within the strip) and tap ky meet in slot y * slot_y + ky * slot_ky.
struct ByteStage {
  std::int64_t channels, in_h, in_w;
  std::int64_t src_row, src_pixel;
  std::int64_t
      src_plane;  ///< of a picture of three planes of floats: their distance; 0: channels are adjacent
  std::int64_t pad_top, pad_left, stride_h, stride_w, dilation_h, reach_w;  ///< reach: of a window, less 1
  std::int64_t kernel_h;
  std::int64_t slot_y, slot_ky;
  bool gathered;            ///< slots hold only the rows that are read, kernel_h for each output row
  std::int64_t pitch;       ///< staged elements from pixel to pixel
  std::int64_t slot_bytes;  ///< from row to row
  bool is_signed;
  int zero;  ///< zero point of the input
};

/// Most pixels of a tile beside that many vectors of filters. Where products and sums are two instructions,
/// one register less is left than in the tiles of floats.
[[gnu::always_inline]] constexpr int byte_tile_pixels(int lanes, int vectors) {
  return lanes != 16 && vectors == 3 ? 3 : tile_pixels(lanes, vectors);
}
}  // namespace saccade::cpu
