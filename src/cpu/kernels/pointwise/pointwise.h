// 1x1 convolution of stride 1 as a matrix product, and the convolution of a single pixel as a matrix-vector
// product. Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// Pixels that tasks are cut in: whole register tiles.
inline constexpr std::int64_t kPixelUnit = 12;

/// Everything but the data. Strides in elements.
struct PointwiseState {
  std::int64_t channels, filters, pixels;  ///< pixels of an image, at a constant distance in every operand
  std::int64_t src_image, src_pixel, dst_image, dst_pixel, residual_image, residual_pixel;
  bool has_residual;  ///< src[3]
  /// src[4]: the input's channels are multiplied by it. A first phase multiplies a copy of the filters for
  /// each image instead.
  bool has_gate;
  std::int64_t gate_image;
  bool src_bf16, dst_bf16, residual_bf16, gate_bf16;  ///< else floats
  Epilogue epilogue;

  std::int64_t vectors, blocks;  ///< filters in vectors, cut into near-equal register blocks
  std::int64_t chunk;            ///< channels accumulated at a time, so that a block's filters stay near
  /// [block][channel][vectors of the block x lanes], padded with zeros, or (`twice`) the last vector's
  /// filters and bias once more in its upper half.
  const float* weights;
  bool twice;
  std::int64_t weight_count;
  const float* bias;  ///< padded

  // Tasks of an image: near-equal runs of `units` groups of kPixelUnit pixels x ranges of register blocks.
  std::int64_t units, pixel_tasks, splits;

  std::int64_t panel;  ///< pixels of a bfloat16 input widened at a time: whole units
};

/// Most vectors of filters that the matrix-vector product keeps at a time.
inline constexpr std::int64_t kSingleVectors = 8;

// conv_pointwise and conv_single are kernels; pointwise_pixels, of floats, does `pixels` pixels with the
// register blocks [b0, b1); `dst` is where filter 0 is or would be, `residual` may be nullptr.

namespace portable {
void conv_pointwise(const compiler::KernelArgs& args) noexcept;
void conv_single(const compiler::KernelArgs& args) noexcept;
void pointwise_pixels(const PointwiseState& state, const float* src, const float* residual, float* dst,
                      std::int64_t pixels, std::int64_t b0, std::int64_t b1) noexcept;
}  // namespace portable
namespace avx2 {
void conv_pointwise(const compiler::KernelArgs& args) noexcept;
void conv_single(const compiler::KernelArgs& args) noexcept;
void pointwise_pixels(const PointwiseState& state, const float* src, const float* residual, float* dst,
                      std::int64_t pixels, std::int64_t b0, std::int64_t b1) noexcept;
}  // namespace avx2
namespace avx512 {
void conv_pointwise(const compiler::KernelArgs& args) noexcept;
void conv_single(const compiler::KernelArgs& args) noexcept;
void pointwise_pixels(const PointwiseState& state, const float* src, const float* residual, float* dst,
                      std::int64_t pixels, std::int64_t b0, std::int64_t b1) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void conv_pointwise(const compiler::KernelArgs& args) noexcept;
void conv_single(const compiler::KernelArgs& args) noexcept;
void pointwise_pixels(const PointwiseState& state, const float* src, const float* residual, float* dst,
                      std::int64_t pixels, std::int64_t b0, std::int64_t b1) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
