// Winograd convolution, 3x3, of tiles of several sizes, channels last, stride 1, any dilation. Plain: kernel
// units include this.
//
// Rows of a picture (of a phase of it, where dilated) are cut into segments of one to eight outputs, each of
// a kind that takes as few products as its size allows; columns likewise; a tile is a segment of rows times
// one of columns. Kinds share transformed filters, since they evaluate polynomials at the same points: all
// products with one transformed filter are one matrix product.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// A segment by its outputs. Those of up to three are whole phases, with nothing but padding around them: one
/// product, three or five. Larger ones are F(4), F(5) and F(6): six, seven or eight products of two inputs
/// more than outputs. F(8), ten products, is for operands of bfloat16, and for axes of its own.
enum class MixedKind : std::uint8_t { one, two, three, four, five, six, eight };
inline constexpr int kMixedKinds = 7;
/// Most products of a segment, and inputs; filters after the transform of one axis.
inline constexpr int kMixedSide = 10;

[[gnu::always_inline]] constexpr int mixed_outputs(MixedKind kind) {
  return kind == MixedKind::eight ? 8 : static_cast<int>(kind) + 1;
}
[[gnu::always_inline]] constexpr bool is_whole_phase(MixedKind kind) { return kind <= MixedKind::three; }
[[gnu::always_inline]] constexpr int mixed_inputs(MixedKind kind) {
  return mixed_outputs(kind) + (is_whole_phase(kind) ? 0 : 2);
}
[[gnu::always_inline]] constexpr int mixed_products(MixedKind kind) {
  return is_whole_phase(kind) ? 2 * mixed_outputs(kind) - 1 : mixed_outputs(kind) + 2;
}

struct MixedSegment {
  std::int32_t output, input;  ///< the first pixel of either; may lie outside the picture
  std::int32_t outputs;        ///< that exist
  MixedKind kind;
  /// Of each product: which it is of those of the axis with the same filter.
  std::int32_t rows[kMixedSide];
};

/// Rows or columns of the picture.
struct MixedAxis {
  const MixedSegment* segments;
  std::int64_t count, dilation, filters;         ///< filters: transformed ones
  std::int64_t rows[kMixedSide];                 ///< products of all segments with each filter
  std::int32_t filter[kMixedKinds][kMixedSide];  ///< of the products of a kind
};

/// Some rows of the matrix product of one position, which is a pair of filters of the two axes.
struct MixedTask {
  std::int64_t position, row, rows;
};

/// Everything but the data. Strides in elements.
struct MixedState {
  std::int64_t channels, filters, in_h, in_w, out_w;
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_pixel, residual_image, residual_pixel;
  bool has_residual;                       ///< src[3]
  bool src_bf16, dst_bf16, residual_bf16;  ///< else floats
  Epilogue epilogue;

  MixedAxis y, x;
  std::int64_t vectors, blocks;  ///< filters in vectors, cut into near-equal register blocks
  std::int64_t panels;           ///< runs of blocks whose products are kept at a time
  /// [panel][position][slice][block][channel][vectors of the block x lanes], transformed, padded with zeros.
  const float* weights;
  const float* bias;   ///< padded
  const float* zeros;  ///< `channels` of them

  std::int64_t stage_channels, stages;  ///< inputs are transformed so many channels at a time
  /// Of each position, in floats: where its transformed inputs start, [slice][row][channel], and its sums,
  /// [row][filter].
  const std::int64_t *inputs_at, *sums_at;
  std::int64_t input_floats;  ///< of all transformed inputs; sums follow
  const MixedTask* tasks;     ///< of the multiplying phases
};

namespace portable {
void winograd_mixed(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void winograd_mixed(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void winograd_mixed(const compiler::KernelArgs& args) noexcept;
/// The same, where an instruction rounds to bfloat16.
void winograd_mixed_rounded(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void winograd_mixed(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
