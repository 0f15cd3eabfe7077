// Pictures sampled at positions that are computed. What prepare() hands to the kernels, and their entry
// points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

/// What is read outside of the picture.
enum class GridBorder { zeros, edge, reflection };

/// Strides in elements; those of the picture and the grid are any.
struct GridSampleParams {
  std::int64_t channels, in_h, in_w, out_h, out_w;
  std::int64_t src_image, src_channel, src_row, src_pixel;
  std::int64_t grid_image, grid_row, grid_pixel, grid_axis;
  std::int64_t dst_image, dst_channel, dst_row, dst_pixel;
  GridBorder border;
  bool nearest, align_corners;
  bool along_channels;         ///< channels of both are adjacent: vectors run along them, else along pixels
  std::int64_t block, blocks;  ///< a task is `block` output pixels of one image
};

/// Output pixels whose taps are found before they are read.
inline constexpr std::int64_t kGridPixels = 64;

namespace portable {
void grid_sample(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void grid_sample(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void grid_sample(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void grid_sample(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
