// Dense convolution of 8-bit pictures, channels last, as an implicit matrix product with exact sums of 32
// bits. Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/byte_stage.h"

namespace saccade::cpu {

/// Everything but the data. Strides in bytes.
struct ConvBytesState {
  ByteStage stage;
  std::int64_t filters, out_h, out_w;
  std::int64_t src_image, dst_image, dst_pixel;  ///< rows of the output follow each other without a gap
  std::int64_t runs, words;  ///< per row of taps: runs, and words of each; a word holds 2 or 4 channels
  std::int64_t run_step;     ///< staged bytes from run to run
  bool skips;                ///< what lies in the padding adds nothing and may be left out

  std::int64_t vectors, blocks;  ///< of filters; blocks of near-equal numbers of vectors
  const char* weights;  ///< [block][ky][run][word][vectors of the block x lanes] words; for tiles words
                        ///< in steps of 16, [step][vector][word of the step]
  const int* start;     ///< what a sum starts from: the bias, and what zero points contribute
  const float* ratio;   ///< x_scale * w_scale / y_scale
  float low, high;      ///< bounds of the result, its zero point taken off
  int zero;             ///< zero point of the result
  bool saturates;       ///< those bounds are what unsigned bytes hold, and no result is beyond 32 bits

  /// The input is read where it is: bytes of their own order, and no tile reads both what is in the picture
  /// and what is not.
  bool direct;
  const std::int64_t* cuts;  ///< where tiles of a row must end, from 0 to out_w: `cut_count` of them
  std::int64_t cut_count;
  /// Words of a run multiplied at a time; fewer than `words` where filters are too many for the second-level
  /// cache. Sums of a strip with one block of filters are kept meanwhile, `sums` bytes into the scratch.
  std::int64_t slice_words, sums;

  std::int64_t strip_rows, strip_columns;  ///< outputs staged at a time
  std::int64_t bands, splits;              ///< tasks of an image
};

/// Bytes of scratch for the addresses of `runs` runs.
[[gnu::always_inline]] constexpr std::int64_t byte_runs_bytes(std::int64_t runs) {
  return (runs * 2 * static_cast<std::int64_t>(sizeof(void*)) + 63) / 64 * 64;
}

// conv_bytes widens to 16 bits and multiplies in pairs; conv_bytes_quads multiplies four bytes at a time,
// conv_bytes_tiles tiles of them.
namespace portable {
void conv_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void conv_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void conv_bytes(const compiler::KernelArgs& args) noexcept;
void conv_bytes_quads(const compiler::KernelArgs& args) noexcept;
void conv_bytes_tiles(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void conv_bytes(const compiler::KernelArgs& args) noexcept;
void conv_bytes_quads(const compiler::KernelArgs& args) noexcept;
void conv_bytes_tiles(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
