// Max and average pooling, channels last. What prepare() hands to the kernels, and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

/// Strides in elements. Channels of both operands are adjacent.
struct PoolParams {
  std::int64_t channels;
  std::int64_t in_h, in_w, out_h, out_w;
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_row, dst_pixel;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  std::int64_t covered_h,
      covered_w;             ///< sizes with the declared end padding: taps before these count as covered
  std::int64_t band, bands;  ///< a task is `band` output rows of one image
  bool is_signed;            ///< of bytes
  bool count_padding;        ///< average: divide by the covered cells, not by those inside the input
};

namespace portable {
void max_pool(const compiler::KernelArgs& args) noexcept;
void max_pool_bytes(const compiler::KernelArgs& args) noexcept;
void average_pool(const compiler::KernelArgs& args) noexcept;
void max_pool_bf16(const compiler::KernelArgs& args) noexcept;
void average_pool_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void max_pool(const compiler::KernelArgs& args) noexcept;
void max_pool_bytes(const compiler::KernelArgs& args) noexcept;
void average_pool(const compiler::KernelArgs& args) noexcept;
void max_pool_bf16(const compiler::KernelArgs& args) noexcept;
void average_pool_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void max_pool(const compiler::KernelArgs& args) noexcept;
void max_pool_bytes(const compiler::KernelArgs& args) noexcept;
void average_pool(const compiler::KernelArgs& args) noexcept;
void max_pool_bf16(const compiler::KernelArgs& args) noexcept;
void average_pool_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void max_pool(const compiler::KernelArgs& args) noexcept;
void max_pool_bytes(const compiler::KernelArgs& args) noexcept;
void average_pool(const compiler::KernelArgs& args) noexcept;
void max_pool_bf16(const compiler::KernelArgs& args) noexcept;
void average_pool_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
