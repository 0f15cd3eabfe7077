// Depthwise convolution of 8-bit pictures, channels last, with exact sums. Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/byte_stage.h"

namespace saccade::cpu {

/// Everything but the data. Strides in bytes. Channels go in groups of two vectors; taps in pairs, the last
/// of an odd number with a weight of zero beside it.
struct DepthwiseBytesState {
  ByteStage stage;
  std::int64_t out_h, out_w;
  std::int64_t src_image, dst_image, dst_pixel;  ///< rows of the output follow each other without a gap
  std::int64_t groups, pairs;
  const std::int64_t* taps;  ///< staged byte offset of each tap from the window's first, 2 x pairs of them
  const char* weights;       ///< [group][pair][two vectors of words]
  const int* start;          ///< the bias; [group][two vectors], as interleaving orders channels
  const float* ratio;        ///< likewise
  float low, high;           ///< bounds of the result, its zero point taken off
  int zero;                  ///< zero point of the result
  std::int64_t strip_rows, strip_columns;  ///< outputs staged at a time
  std::int64_t bands;                      ///< tasks of an image
};

namespace portable {
void depthwise_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void depthwise_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void depthwise_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void depthwise_bytes(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
