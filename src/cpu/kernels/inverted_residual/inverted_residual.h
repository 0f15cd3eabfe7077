// 1x1 convolution, depthwise convolution, 1x1 convolution in one, a few rows at a time: what lies between
// stays in the second-level cache. Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/kernels/conv_bf16/conv_bf16.h"
#include "cpu/kernels/depthwise/depthwise.h"
#include "cpu/kernels/pointwise/pointwise.h"

namespace saccade::cpu {

/// Strides and sizes in elements, floats or all bfloat16 by the kind of its 1x1 convolutions. By rows: a step
/// makes `rows` output rows: it expands the input rows that are not in the ring yet, convolves them, projects
/// the result. By channels, where nothing is projected and maps are small: a task expands and convolves a
/// range of channels of a whole map.
template <class Layer>
struct BlockState {
  const Layer* expand;  ///< nullptr: the depthwise convolution reads the input itself
  const DepthwiseParams* depthwise;
  const Layer* project;  ///< nullptr: the depthwise convolution writes the output itself

  std::int64_t src_image, src_row, dst_image, dst_row, residual_image, residual_row;
  bool has_residual;  ///< of the projection: src[7]

  std::int64_t chunks;           ///< ranges of channels; 0: by rows
  std::int64_t rows;             ///< output rows of a step
  std::int64_t band, bands;      ///< a task is `band` output rows, whole steps but for the last
  std::int64_t slots, ring_row;  ///< expanded row r lies in slot r % slots
  std::int64_t between_row;      ///< a row of what is projected
  /// Where things begin in a thread's scratch, in bytes: ring, what is projected, the depthwise convolution's
  /// table, and one BlockRing.
  std::int64_t ring, between, table, state;
};

/// What a thread's ring holds: rows before `expanded` that the next step of this image needs.
struct BlockRing {
  std::int64_t image, expanded;
};

namespace portable {
void inverted_residual(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void inverted_residual(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void inverted_residual(const compiler::KernelArgs& args) noexcept;
void inverted_residual_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void inverted_residual(const compiler::KernelArgs& args) noexcept;
void inverted_residual_bf16(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
