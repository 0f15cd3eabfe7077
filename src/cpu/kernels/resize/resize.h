// Resizing channels-last pictures along height and width. What prepare() hands to the kernels, and their
// entry points.
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

namespace portable {
void resize_taps(const compiler::KernelArgs& args) noexcept;
void resize_double(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void resize_taps(const compiler::KernelArgs& args) noexcept;
void resize_double(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void resize_taps(const compiler::KernelArgs& args) noexcept;
void resize_double(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void resize_taps(const compiler::KernelArgs& args) noexcept;
void resize_double(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
