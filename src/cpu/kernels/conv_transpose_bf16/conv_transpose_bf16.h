// Transposed convolution of bfloat16 whose windows lie side by side, channels last: each tap is a 1x1
// convolution to pixels a stride apart. Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// Everything but the data. Strides in elements.
struct ConvTransposeBf16State {
  std::int64_t words;  ///< of two channels of a pixel
  std::int64_t filters, in_h, in_w, out_w, kernel_h, kernel_w;
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_pixel;
  bool dst_bf16;  ///< else floats
  Epilogue epilogue;
  std::int64_t vectors, blocks;  ///< filters in vectors, cut into near-equal register blocks
  /// [row of taps][tap][block][word][vectors of the block x lanes], padded with zeros.
  const char* weights;
  const float* bias;   ///< padded
  std::int64_t bands;  ///< of input rows; a task is one of them for one row of taps
};

namespace avx512 {
void conv_transpose_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void conv_transpose_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
