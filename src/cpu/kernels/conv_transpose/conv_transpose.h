// Transposed convolution, channels last, without inserting zeros. Plain: kernel units include this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// The outputs o of one axis with o mod stride = r form one ordinary convolution of stride 1: output stride j
/// + r adds input j + offset for each of its taps.
struct TransposePhase {
  std::int64_t outputs;  ///< how many
  std::int64_t taps;
  const std::int64_t* offsets;
};

/// Everything but the data. Strides in elements.
struct ConvTransposeState {
  std::int64_t groups, channels, filters;  ///< per group: input channels, output channels
  std::int64_t in_h, in_w, out_w;
  std::int64_t stride_h, stride_w;
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_pixel;
  bool src_bf16, dst_bf16;  ///< else floats
  Epilogue epilogue;

  const TransposePhase* phases_h;  ///< stride_h of them
  const TransposePhase* phases_w;
  std::int64_t most_taps;  ///< of a pair of phases

  std::int64_t vectors, blocks;  ///< filters in vectors, cut into near-equal register blocks
  std::int64_t taps;             ///< of all phases together
  /// [group][block][phase of rows][phase of columns][tap][channel][vectors of the block x lanes], padded with
  /// zeros.
  const float* weights;
  const float* bias;   ///< [group][vectors x lanes], padded
  const float* zeros;  ///< `channels` of them

  // Where stride and kernel are equal and the filters few: values of the patch that each pixel becomes,
  // [ky][kx][filter]. Weights are then [value / 4][channel][value mod 4], biases one a value. Zero otherwise.
  std::int64_t patch;

  // Tasks of an image: near-equal bands of input-sized rows x groups x ranges of blocks.
  std::int64_t rows, bands, splits;

  // Rows j of a bfloat16 input are widened `strip_rows` at a time, with those that taps reach before and
  // after.
  std::int64_t strip_rows, rows_before, rows_after;
  std::size_t strip_bytes;  ///< of scratch
};

namespace portable {
void conv_transpose(const compiler::KernelArgs& args) noexcept;
void conv_transpose_patch(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void conv_transpose(const compiler::KernelArgs& args) noexcept;
void conv_transpose_patch(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void conv_transpose(const compiler::KernelArgs& args) noexcept;
void conv_transpose_patch(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void conv_transpose(const compiler::KernelArgs& args) noexcept;
void conv_transpose_patch(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
