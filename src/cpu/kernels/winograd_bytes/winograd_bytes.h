// 3x3 convolution of 8-bit pictures by Winograd's F(2x2, 3x3) in whole numbers: exact. Plain: kernel units
// include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/byte_stage.h"

namespace saccade::cpu {

/// Transformed pictures and filters are integers of 16 bits: the picture's grow fourfold, the filters',
/// scaled by 4 to stay whole, ninefold. Sums are of 32 bits and may wrap; the result, four times the
/// convolution, does not.
inline constexpr int kWinogradPositions = 16;

/// Everything but the data. Strides in bytes. A tile is 2x2 outputs `dilation` apart; tiles of one phase of
/// the dilation follow each other, row by row.
struct WinogradBytesState {
  std::int64_t channels, filters, in_h, in_w, out_h, out_w;
  std::int64_t pad_top, pad_left, dilation_h, dilation_w;
  std::int64_t src_image, src_row, src_pixel;
  std::int64_t dst_image, dst_pixel;  ///< rows of the output follow each other without a gap
  bool is_signed;
  int x_zero;
  std::int64_t vectors, blocks;  ///< of filters; blocks of near-equal numbers of vectors
  const char* weights;           ///< [block][position][pair of channels][vectors of the block x lanes] words
  const int* bias;
  const float* ratio;  ///< x_scale * w_scale / y_scale
  float low, high;     ///< bounds of the result, its zero point taken off
  int y_zero;

  std::int64_t tiles_y, tiles_x;  ///< of a phase
  std::int64_t tiles;             ///< of an image
  std::int64_t strip;             ///< tiles transformed at a time
  std::int64_t position_bytes;    ///< of a strip's transformed pixels, from position to position
  std::int64_t sums_offset;       ///< of the sums, in the scratch
  std::int64_t parts, splits;     ///< tasks of an image: ranges of tiles x ranges of blocks
};

namespace portable {
void winograd_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void winograd_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void winograd_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void winograd_bytes(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
