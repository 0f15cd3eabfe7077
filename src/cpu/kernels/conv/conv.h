// Dense and grouped convolution, channels last, as an implicit matrix product. Plain: kernel units include
// this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// Everything but the data. Strides in elements.
struct ConvState {
  std::int64_t groups, channels, filters;  ///< per group: input channels, output channels
  std::int64_t in_h, in_w, out_h, out_w;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  std::int64_t src_image, src_row, src_pixel;
  std::int64_t dst_image, dst_pixel;            ///< rows of the output follow each other without a gap
  std::int64_t residual_image, residual_pixel;  ///< likewise
  bool has_residual;                            ///< src[3]
  bool src_bf16, dst_bf16, residual_bf16;       ///< else floats
  bool planar;                                  ///< the input is three planes, at this distance
  std::int64_t src_plane;
  Epilogue epilogue;

  /// Output channels in vectors, cut into `blocks` near-equal register blocks of at most `block_vectors`.
  std::int64_t vectors, blocks;
  /// Input channels accumulated at a time, and into how many groups of taps each time; partial sums wait in
  /// the output.
  std::int64_t chunk, tap_groups;
  /// [group][block][chunk][tap][channel of the chunk][vectors of the block x lanes], padded with zeros.
  const float* weights;
  const float* bias;             ///< [group][vectors x lanes], padded
  const float* zeros;            ///< `channels` zeros: what a tap outside the image reads
  const std::int64_t* segments;  ///< bounds of the segments of a row of outputs, see row_segments
  std::int64_t segment_count;

  // Tasks of an image: near-equal bands of rows x groups x ranges of blocks; fixed by the shape alone.
  std::int64_t bands, splits;
  bool filters_first;  ///< the order of tasks: those of one range of filters follow each other

  // bfloat16 inputs are widened, planes brought together, strip by strip of `strip_rows` output rows: all
  // input rows from the first to the last, or (`gathered`) the kernel_h rows of each output row.
  std::int64_t strip_rows;
  bool gathered;
  std::size_t strip_bytes;  ///< of scratch
};

namespace portable {
void conv_dense(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void conv_dense(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void conv_dense(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void conv_dense(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
