// Dense convolution as an implicit matrix product of bfloat16, channels last, summed in floats: of vectors,
// or of tiles. Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"
#include "cpu/byte_stage.h"
#include "cpu/simd/bf16.h"

namespace saccade::cpu {

/// Everything but the data. Strides in elements, but for those that say bytes.
struct ConvBf16State {
  ByteStage stage;
  bool direct;  ///< the input is read where it lies, else staged strip by strip
  /// Read where it lies, too, but each pixel of a tile has a pointer a tap, to zeros outside the picture.
  bool scattered;
  const char* zeros;             ///< as long as a pixel
  const std::int64_t* segments;  ///< bounds of the segments of a row of outputs, see row_segments
  std::int64_t segment_count;
  bool even;  ///< a tap meets all pixels of a segment or none: pixels are at one distance, no pointers
  /// Scattered: runs of a tile are multiplied in so many near-equal groups, each for all tiles of a band, so
  /// that a group's filters stay in the second-level cache; sums wait in scratch.
  std::int64_t groups;
  std::int64_t filters, out_h, out_w;
  std::int64_t outputs;  ///< pixels of an image: the last row may be shorter than the others
  std::int64_t src_image, dst_image, dst_pixel, residual_image, residual_pixel;
  bool src_bf16, dst_bf16, residual_bf16;  ///< else floats
  bool has_residual;                       ///< src[3]
  Epilogue epilogue;
  /// src[4], in 1x1 convolutions: the input's channels are multiplied by it. A first phase multiplies a copy
  /// of the filters, which are floats then, for each image.
  bool has_gate, gate_bf16;
  std::int64_t gate_image;
  std::int64_t folds;  ///< tasks of that phase a block of filters

  std::int64_t runs, words;  ///< per row of taps: runs, and words (two channels) of each
  std::int64_t run_step;     ///< bytes from run to run
  std::int64_t dilation_w;

  std::int64_t vectors, blocks;  ///< of filters; blocks of near-equal numbers of vectors, of two for tiles
  /// [block][ky][run][word][vectors of the block x lanes] words; where gated [block][word][vector][2][lanes]
  /// floats.
  const char* weights;
  std::int64_t weight_words;
  const float* bias;  ///< padded

  std::int64_t strip_rows, strip_columns;  ///< outputs staged at a time
  std::int64_t bands, splits;              ///< tasks of an image
};

/// Most pixels of a tile.
inline constexpr std::int64_t kPairPixels = 12;

/// Bytes of scratch for the addresses of `runs` runs.
[[gnu::always_inline]] constexpr std::int64_t bf16_runs_bytes(std::int64_t runs, bool scattered) {
  const std::int64_t pointers = 2 + (scattered ? kPairPixels : 0);
  return (runs * pointers * static_cast<std::int64_t>(sizeof(void*)) + 63) / 64 * 64;
}

// conv_bf16_pixels: a 1x1 convolution between bfloat16 whose input is read where it lies, of `pixels` pixels
// at the state's distances, with the register blocks [b0, b1).

namespace avx512 {
void conv_bf16(const compiler::KernelArgs& args) noexcept;
void conv_bf16_pixels(const ConvBf16State& s, const Bf16* src, const Bf16* residual, Bf16* dst,
                      std::int64_t pixels, std::int64_t b0, std::int64_t b1) noexcept;
void conv_tiles(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void conv_bf16(const compiler::KernelArgs& args) noexcept;
void conv_bf16_pixels(const ConvBf16State& s, const Bf16* src, const Bf16* residual, Bf16* dst,
                      std::int64_t pixels, std::int64_t b0, std::int64_t b1) noexcept;
void conv_tiles(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
