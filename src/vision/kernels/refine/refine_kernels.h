// Kernels of the guided filter: sums of cells, boxes, the linear model of each cell, and its use on full
// rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "saccade/isa.h"

namespace saccade::vision {

/// Side of a cell in pixels: the filter's statistics are made of means of cells.
constexpr int kRefineCell = 4;
/// Fractional bits of the model's slope, and of its offset in steps of 8-bit alpha: even the difference of
/// two fits 16 bits.
constexpr int kRefineSlopeBits = 10, kRefineOffsetBits = 2;

struct RefineKernels {
  Isa isa;
  /// out[c] = scale * (the sum of the pixels of cell c in its kRefineCell rows); u16: each >> shift
  void (*means_u8)(const std::uint8_t* const* rows, int cells, float scale, float* out) noexcept;
  void (*means_u16)(const std::uint16_t* const* rows, int shift, int cells, float scale, float* out) noexcept;
  /// Adds to the sums of luma, alpha, luma * luma and luma * alpha, which lie `pitch` apart.
  void (*add_moments)(const float* luma, const float* alpha, int n, std::ptrdiff_t pitch,
                      float* sums) noexcept;
  /// The same, and takes `old_luma` and `old_alpha` away.
  void (*slide_moments)(const float* luma, const float* alpha, const float* old_luma, const float* old_alpha,
                        int n, std::ptrdiff_t pitch, float* sums) noexcept;
  /// From these sums of columns, each window being the columns i to i + 2 * radius with 1 / norm cells:
  /// alpha = slope * luma + offset, both in 0..1.
  void (*solve)(const float* sums, std::ptrdiff_t pitch, int radius, float norm, float smoothness, int n,
                float* slope, float* offset) noexcept;
  /// sum += in
  void (*add)(const float* in, int n, float* sum) noexcept;
  /// sum += in - old
  void (*slide)(const float* in, const float* old, int n, float* sum) noexcept;
  /// out[i] = scale * (in[i] + ... + in[i + 2 * radius]), rounded
  void (*box_quantise)(const float* in, int radius, float scale, int n, std::int16_t* out) noexcept;
  /// alpha = clamp(slope * luma + offset), rounded; u16: luma of more bits is shifted down, alpha scaled up
  void (*apply_u8)(const std::uint8_t* luma, const std::int16_t* slope, const std::int16_t* offset, int n,
                   std::uint8_t* alpha) noexcept;
  void (*apply_u16)(const std::uint16_t* luma, int shift, const std::int16_t* slope,
                    const std::int16_t* offset, int top, int n, std::uint16_t* alpha) noexcept;
};

namespace portable {
extern const RefineKernels kRefine;
}
namespace avx2 {
extern const RefineKernels kRefine;
}
namespace avx512 {
extern const RefineKernels kRefine;
}

}  // namespace saccade::vision
