// Convolution to a few filters (masks, classes): vectors run over the channels instead of the filters. Plain:
// kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// Everything but the data. Strides in elements.
struct ConvFewState {
  std::int64_t channels, filters;
  std::int64_t in_h, in_w, out_h, out_w;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_pixel, residual_image, residual_pixel;
  bool has_residual;                       ///< src[3]
  bool src_bf16, dst_bf16, residual_bf16;  ///< else floats
  Epilogue epilogue;

  std::int64_t padded;   ///< channels rounded up to whole vectors
  const float* weights;  ///< [filter][tap][padded channels], padded with zeros
  const float* bias;     ///< [filter]
  const float* zeros;    ///< `channels` of them

  std::int64_t bands;  ///< tasks of an image: near-equal bands of rows
};

namespace portable {
void conv_few(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void conv_few(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void conv_few(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void conv_few(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
