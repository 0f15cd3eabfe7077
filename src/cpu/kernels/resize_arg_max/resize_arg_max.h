// The class of every pixel of an enlarged picture: arg max over the channels of a linear or nearest resize,
// without the enlarged logits. What prepare() hands to the kernels, and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

/// Outputs [begin, end) of an axis that read the same two inputs.
struct ResizeCell {
  std::int32_t begin, end, first, second;
};

/// What a pixel of the input says of itself.
struct ClassLeader {
  float lead;           ///< of its best class over the second
  float largest;        ///< magnitude of its logits
  std::int32_t number;  ///< of its best class, the lowest among equals
};

/// One axis.
struct ResizeCells {
  std::int64_t count;
  const ResizeCell* cells;
  const float *first_weight, *second_weight;  ///< per output; both axes hold a vector more than they need
};

/// Strides in elements.
struct ResizeArgMaxParams {
  std::int64_t channels, in_h, in_w;
  std::int64_t src_image, src_channel, src_row, src_pixel, dst_image,
      dst_row;  ///< outputs of a row are adjacent
  ResizeCells down, across;
  std::int64_t pixel_step;  ///< floats from pixel to pixel of the reordered logits: channels in whole vectors
  /// Shared scratch: of every image the reordered logits [row][column][pixel_step], then of every image the
  /// leaders.
  std::int64_t images;
  /// Tasks of phase 0: `read_band` rows of one image; of phase 1: `band` cells down of one image.
  std::int64_t read_band, read_bands, band, bands;
};

namespace portable {
void resize_arg_max(const compiler::KernelArgs& args) noexcept;
void resize_arg_max_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void resize_arg_max(const compiler::KernelArgs& args) noexcept;
void resize_arg_max_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void resize_arg_max(const compiler::KernelArgs& args) noexcept;
void resize_arg_max_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void resize_arg_max(const compiler::KernelArgs& args) noexcept;
void resize_arg_max_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
