// Max pooling that says where each value came from, and the way back. What prepare() hands to the kernels,
// and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

/// Distances in elements of neighbouring images, channels, rows and pixels.
struct PictureSteps {
  std::int64_t image, channel, row, pixel;
};

/// Indices count in a dense picture of the input, images and channels first.
struct MaxIndexParams {
  std::int64_t channels, in_h, in_w, out_h, out_w;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  PictureSteps src, dst, index;
  bool column_major;         ///< columns of a plane are counted, then its rows
  std::int64_t band, bands;  ///< a task is `band` output rows of one image
};

/// Phase 0 fills rows with zeros, phase 1 puts the values of kUnpoolChannels channels of an image where their
/// indices say, and counts those that lead to other planes, which phase 2 puts there.
struct UnpoolParams {
  std::int64_t images, channels, in_h, in_w;
  std::int64_t inner_h, inner_w;  ///< what indices count in
  std::int64_t out_h, out_w;
  PictureSteps src, dst, index;
  std::int64_t parts;  ///< of the channels
};
inline constexpr std::int64_t kUnpoolChannels = 16;

namespace portable {
void max_index(const compiler::KernelArgs& args) noexcept;
void unpool(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void max_index(const compiler::KernelArgs& args) noexcept;
void unpool(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void max_index(const compiler::KernelArgs& args) noexcept;
void unpool(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void max_index(const compiler::KernelArgs& args) noexcept;
void unpool(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
