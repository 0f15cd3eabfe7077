// Convolution whose taps are moved by offsets. What prepare() hands to the kernels, and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// Most output pixels of a strip.
inline constexpr std::int64_t kDeformPixels = 96;

/// Strides in elements; channels of picture and result are adjacent, offsets and mask lie anyhow.
struct DeformConvState {
  std::int64_t groups, channels, filters;      ///< per group: input channels, output channels
  std::int64_t offset_groups, moved_together;  ///< and channels of one of them
  std::int64_t in_h, in_w, out_h, out_w;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  std::int64_t src_image, src_row, src_pixel;
  std::int64_t offset_image, offset_channel, offset_row, offset_pixel;
  std::int64_t mask_image, mask_channel, mask_row, mask_pixel;
  bool has_mask;
  std::int64_t dst_image, dst_pixel;  ///< rows of the output follow each other without a gap
  Epilogue epilogue;
  std::int64_t vectors, blocks;  ///< output channels of a group in vectors, in near-equal register blocks
  /// [group][block][tap][channel][vectors of the block x lanes], padded with zeros.
  const float* weights;
  const float* bias;       ///< [group][vectors x lanes], padded
  std::int64_t tap_parts;  ///< taps are multiplied in so many parts; partial sums wait in the output
  /// A task is a strip of `strip` output pixels of an image: samples [pixel][tap][channel] in scratch, then
  /// products.
  std::int64_t strip, strips;
};

namespace portable {
void deform_conv(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void deform_conv(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void deform_conv(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void deform_conv(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
