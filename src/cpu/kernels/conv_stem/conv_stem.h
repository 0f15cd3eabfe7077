// First convolutions: windows of a picture of few channels, read where they lie, as planes or with channels
// last. Plain: kernel units include this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// What is known of a window when the kernel is compiled: its products come in runs of `length` floats that
/// are neighbours in memory, and the windows of neighbouring outputs start `distance` floats apart.
struct StemForm {
  int length, distance;
};
/// Rows of a plane's window, 3, 5 and 7 wide, and of three pixels with three channels each.
inline constexpr StemForm kStemForms[] = {{3, 1}, {3, 2}, {5, 1}, {5, 2}, {7, 1},
                                          {7, 2}, {7, 4}, {9, 3}, {9, 6}};
inline constexpr int kStemFormCount = sizeof(kStemForms) / sizeof(kStemForms[0]);

/// Most pixels of a tile: a vector of sums each, the filters of a run and a value fit the register file (32
/// registers where vectors have 16 lanes, else 16, and runs of 3). A multiple of 3.
[[gnu::always_inline]] constexpr int stem_pixels(int lanes) { return lanes == 16 ? 12 : 9; }

/// Everything but the data. Strides in elements.
struct ConvStemState {
  std::int64_t filters;
  std::int64_t in_h, in_w, out_h, out_w;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
  std::int64_t src_image, src_row, src_plane, src_pixel;
  std::int64_t dst_image, dst_pixel;  ///< rows of the output follow each other without a gap
  Epilogue epilogue;

  int form;              ///< of kStemForms
  std::int64_t lines;    ///< rows of memory that hold one row of the picture: its planes, or one
  std::int64_t vectors;  ///< of filters
  const float* weights;  ///< [vector][row of the window][line][float of the run][lane]
  const float* bias;     ///< [vectors x lanes]; both padded with zeros

  std::int64_t bands;          ///< tasks of an image: near-equal bands of rows
  std::int64_t window_floats;  ///< of one line under a tile, with room for whole vectors that start anywhere
};

namespace portable {
void conv_stem(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void conv_stem(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void conv_stem(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void conv_stem(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
