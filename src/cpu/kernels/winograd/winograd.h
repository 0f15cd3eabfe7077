// Winograd convolution F(4x4, 3x3), F(6x6, 3x3) and F(8x8, 3x3), channels last, stride 1, any dilation.
// Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// The transforms evaluate polynomials at 0, infinity and pairs of points +-p. The points were searched for
/// the smallest error in single precision: 2-3 times below those of the usual 1, 2 and 1/2, 1, 2.
inline constexpr double kPoints4[] = {0.625, 1.5};
inline constexpr double kPoints6[] = {0.5, 1.0, 1.8125};
/// F(8x8) errs five times as much as F(6x6): for operands of bfloat16.
inline constexpr double kPoints8[] = {0.4375, 0.8125, 1.1875, 2.5};

/// Channels of a slice, whose products are added up in registers; sums of slices are added to each other. A
/// slice of a register block of filters takes 8 KB of the first-level cache, 16 where vectors have 16 lanes.
[[gnu::always_inline]] constexpr std::int64_t winograd_depth(int lanes) { return lanes == 16 ? 64 : 128; }
/// Floats between two tiles of the slice that `left` channels are left for.
[[gnu::always_inline]] constexpr std::int64_t slice_row(std::int64_t left, std::int64_t depth) {
  return left < depth ? (left + 15) / 16 * 16 : depth;
}

/// A tile of outputs: (y + i dilation_h, x + j dilation_w) for i, j below the tile's side.
struct WinogradTile {
  std::int32_t y, x;
};

/// In which order a Winograd convolution works, by the size of its filters.
enum class WinogradOrder : std::uint8_t {
  /// A task transforms a block of tiles, multiplies it with all filters and transforms the sums: all threads
  /// read all
  /// filters for each block.
  blocks,
  /// Filters that are too large for that: the transformed inputs of `stage_tiles` tiles are shared, and tasks
  /// of a second
  /// phase are a block of tiles x a range of panels.
  stages,
  /// Filters beyond every cache and few tiles: transformed inputs and sums of all tiles are shared, a task
  /// multiplies one
  /// position, and filters are read once. Inputs are transformed `stage_channels` channels at a time.
  positions,
};

/// Everything but the data. Strides in elements.
struct WinogradState {
  std::int64_t channels, filters;
  std::int64_t in_h, in_w, out_h, out_w, dilation_h, dilation_w, pad_top, pad_left;
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_pixel, residual_image, residual_pixel;
  bool has_residual;                       ///< src[3]
  bool src_bf16, dst_bf16, residual_bf16;  ///< else floats
  Epilogue epilogue;

  const WinogradTile* tiles;
  std::int64_t tile_count;
  std::int64_t vectors, blocks;  ///< filters in vectors, cut into near-equal register blocks
  std::int64_t panels;           ///< runs of blocks whose products are kept at a time
  std::int64_t panel_step;       ///< floats of the widest panel
  /// [panel][position][slice][block][channel][vectors of the block x lanes], transformed, padded with zeros.
  const float* weights;
  const float* bias;   ///< padded
  const float* zeros;  ///< `channels` of them

  std::int64_t block_tiles;    ///< most tiles of one product
  std::int64_t position_step;  ///< floats between the transformed inputs of two positions
  std::int64_t sums_step;      ///< floats between the sums of two positions
  std::int64_t tasks;          ///< in blocks: near-equal blocks of tiles
  bool ask_ahead;  ///< in blocks: the input of the next block comes from far, and is asked for in time
  bool stream;     ///< the result is too large for the caches: written past them where aligned

  WinogradOrder order;
  std::int64_t stage_tiles, stage_channels, stages;  ///< of an image
};

namespace portable {
void winograd_4(const compiler::KernelArgs& args) noexcept;
void winograd_6(const compiler::KernelArgs& args) noexcept;
void winograd_8(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void winograd_4(const compiler::KernelArgs& args) noexcept;
void winograd_6(const compiler::KernelArgs& args) noexcept;
void winograd_8(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void winograd_4(const compiler::KernelArgs& args) noexcept;
void winograd_6(const compiler::KernelArgs& args) noexcept;
void winograd_8(const compiler::KernelArgs& args) noexcept;
/// The same, where an instruction rounds to bfloat16.
void winograd_4_rounded(const compiler::KernelArgs& args) noexcept;
void winograd_6_rounded(const compiler::KernelArgs& args) noexcept;
void winograd_8_rounded(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void winograd_4(const compiler::KernelArgs& args) noexcept;
void winograd_6(const compiler::KernelArgs& args) noexcept;
void winograd_8(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
