// Depthwise convolution: each channel has its own filter. What prepare() hands to the kernels, and their
// entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"
#include "cpu/simd/bf16.h"

namespace saccade::cpu {

/// Data stored as bfloat16, multiplied as such: of two input rows at once. Filters are rounded.
struct PairedBf16 : Bf16 {};
template <class T>
inline constexpr bool kPaired = false;
template <>
inline constexpr bool kPaired<PairedBf16> = true;

/// Strides in elements. Channels of every operand are adjacent.
struct DepthwiseParams {
  std::int64_t channels;    ///< of the output
  std::int64_t multiplier;  ///< output channels per input channel
  std::int64_t src_height, src_width, dst_height, dst_width;
  std::int64_t src_image, src_row, src_pixel;
  std::int64_t dst_image, dst_row, dst_pixel;
  std::int64_t residual_image, residual_row, residual_pixel;
  std::int64_t stride_y, stride_x, dilation_y, dilation_x, pad_top, pad_left;
  std::int64_t kernel_y, kernel_x;
  /// A dilated convolution of stride 1 is done as this many undilated ones, each on every dilation-th row and
  /// column.
  std::int64_t phases_y, phases_x;
  /// A task is `band` rows of one phase of one image times `group` channels (a multiple of the vector).
  std::int64_t band, bands, group, groups;
  std::int64_t piece;         ///< output columns walked before the next vector of channels
  std::int64_t table_floats;  ///< room at the start of a thread's scratch for the taps of an edge tile
  bool has_residual, residual_last;
  const float* weights;  ///< [block of kLanes channels][tap][kLanes], zeros behind the last channel
  const float* bias;     ///< [block][kLanes]
  /// Of PairedBf16: [block][two rows of the window that the first output row of a tile sees][output
  /// row][column][kLanes] words, whose lower and upper bfloat16 are the weights of both.
  const void* words;
  std::int64_t channel_words;  ///< of a channel
  /// The same for 32 channels at a time in the order of RowHalves (avx512_rows.h): [32 channels][2][16]
  /// biases, then [32 channels][two rows][half][output row][column][16] words.
  const void* halves;
  const void* zeros;  ///< `group` of them: what a tap outside of the map reads
  Epilogue epilogue;
};

/// Output rows [top, bottom) and channels [first, last) of one image, stored as T, float, Bf16 or PairedBf16.
/// Pointers are to row 0, column 0 at channel `first`.
template <class T>
struct DepthwiseTask {
  const DepthwiseParams* p;
  const T* src;
  const T* residual;  ///< or nullptr
  T* dst;
  std::int64_t top, bottom, first, last;
  void* table;        ///< room for p->table_floats floats
  std::int64_t wrap;  ///< input rows from this one on lie `ring` elements earlier
  std::int64_t ring;
};
inline constexpr std::int64_t kNoWrap = std::int64_t{1} << 62;

// depthwise_conv and depthwise_conv_bf16 are kernels; depthwise_rows does one task of a convolution with one
// output channel an input channel, all rows where it is cut into phases.

namespace portable {
void depthwise_conv(const compiler::KernelArgs& args) noexcept;
void depthwise_conv_bf16(const compiler::KernelArgs& args) noexcept;
void depthwise_rows(const DepthwiseTask<float>& task) noexcept;
void depthwise_rows(const DepthwiseTask<Bf16>& task) noexcept;
}  // namespace portable
namespace avx2 {
void depthwise_conv(const compiler::KernelArgs& args) noexcept;
void depthwise_conv_bf16(const compiler::KernelArgs& args) noexcept;
void depthwise_rows(const DepthwiseTask<float>& task) noexcept;
void depthwise_rows(const DepthwiseTask<Bf16>& task) noexcept;
}  // namespace avx2
namespace avx512 {
void depthwise_conv(const compiler::KernelArgs& args) noexcept;
void depthwise_conv_bf16(const compiler::KernelArgs& args) noexcept;
/// The same, where an instruction rounds to bfloat16.
void depthwise_conv_bf16_rounded(const compiler::KernelArgs& args) noexcept;
void depthwise_conv_bf16_paired(const compiler::KernelArgs& args) noexcept;
void depthwise_rows(const DepthwiseTask<PairedBf16>& task) noexcept;
void depthwise_rows(const DepthwiseTask<float>& task) noexcept;
void depthwise_rows(const DepthwiseTask<Bf16>& task) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void depthwise_conv(const compiler::KernelArgs& args) noexcept;
void depthwise_conv_bf16(const compiler::KernelArgs& args) noexcept;
void depthwise_conv_bf16_paired(const compiler::KernelArgs& args) noexcept;
void depthwise_rows(const DepthwiseTask<PairedBf16>& task) noexcept;
void depthwise_rows(const DepthwiseTask<float>& task) noexcept;
void depthwise_rows(const DepthwiseTask<Bf16>& task) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
