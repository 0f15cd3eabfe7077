// Resizing pictures along height and width, channels last or as planes. What prepare() hands to the kernels,
// and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

/// One axis: output o sums weight * input[index] over its `taps` entries from o * taps on.
struct ResizeTaps {
  std::int64_t taps;
  const std::int32_t* index;
  const float* weight;
};

/// Strides in elements. Channels of both operands are adjacent.
struct ResizeParams {
  std::int64_t channels;
  std::int64_t in_h, in_w, out_h, out_w;
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_row, dst_pixel;
  ResizeTaps vertical, horizontal;
  /// Few channels: the horizontal taps of each element of an output row, as indices into a dense input row,
  /// one array of out_w * channels (padded to whole vectors) a tap. nullptr: vectors run along the channels.
  const std::int32_t* flat_index;
  const float* flat_weight;
  std::int64_t flat_step;    ///< elements of one such array
  std::int64_t chunk;        ///< channels at a time: a row of them stays in the first-level cache
  std::int64_t band, bands;  ///< a task is `band` output rows (of doubling: pairs of rows) of one image
};

/// Planes: the columns of both operands are adjacent. Strides in elements.
struct PlanarParams {
  std::int64_t channels;  ///< planes of an image
  std::int64_t in_w, out_h, out_w;
  std::int64_t src_image, src_channel, src_row, dst_image, dst_channel, dst_row;
  ResizeTaps vertical;
  /// Columns in groups of a vector, the last one ending at out_w. For each group and tap: what a vector of
  /// outputs reads and its weights. `near`: the indices are relative to `at`, less than a vector; else they
  /// are columns.
  std::int64_t groups, taps;
  bool near;
  const std::int32_t* at;     ///< [group][tap]
  const std::int32_t* index;  ///< [group][tap][kLanes]
  const float* weight;
  std::int64_t slots;     ///< stretched rows that are kept: input row r in slot r % slots
  std::int64_t row_step;  ///< floats from slot to slot; with corners to a slot's second half
  const float* corners;   ///< in the order of corners: the weights of the left neighbour of each column, and
                          ///< row_step further of the right one; the neighbours are kept apart
  bool far;               ///< the output is too large to be found in a cache by whoever reads it
  std::int64_t band, bands;  ///< a task is `band` output rows of one plane
};

namespace portable {
void resize_taps(const compiler::KernelArgs& args) noexcept;
void resize_planar(const compiler::KernelArgs& args) noexcept;
void resize_planar_corners(const compiler::KernelArgs& args) noexcept;
void resize_double(const compiler::KernelArgs& args) noexcept;
void resize_corners(const compiler::KernelArgs& args) noexcept;
void resize_taps_bf16(const compiler::KernelArgs& args) noexcept;
void resize_double_bf16(const compiler::KernelArgs& args) noexcept;
void resize_corners_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void resize_taps(const compiler::KernelArgs& args) noexcept;
void resize_planar(const compiler::KernelArgs& args) noexcept;
void resize_planar_corners(const compiler::KernelArgs& args) noexcept;
void resize_double(const compiler::KernelArgs& args) noexcept;
void resize_corners(const compiler::KernelArgs& args) noexcept;
void resize_taps_bf16(const compiler::KernelArgs& args) noexcept;
void resize_double_bf16(const compiler::KernelArgs& args) noexcept;
void resize_corners_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void resize_taps(const compiler::KernelArgs& args) noexcept;
void resize_planar(const compiler::KernelArgs& args) noexcept;
void resize_planar_corners(const compiler::KernelArgs& args) noexcept;
void resize_double(const compiler::KernelArgs& args) noexcept;
void resize_corners(const compiler::KernelArgs& args) noexcept;
void resize_taps_bf16(const compiler::KernelArgs& args) noexcept;
void resize_double_bf16(const compiler::KernelArgs& args) noexcept;
void resize_corners_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void resize_taps(const compiler::KernelArgs& args) noexcept;
void resize_planar(const compiler::KernelArgs& args) noexcept;
void resize_planar_corners(const compiler::KernelArgs& args) noexcept;
void resize_double(const compiler::KernelArgs& args) noexcept;
void resize_corners(const compiler::KernelArgs& args) noexcept;
void resize_taps_bf16(const compiler::KernelArgs& args) noexcept;
void resize_double_bf16(const compiler::KernelArgs& args) noexcept;
void resize_corners_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
