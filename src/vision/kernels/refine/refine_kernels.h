// Kernels of the guided filter: sums of cells, boxes, the linear model of each cell, and its use on full
// rows.
#pragma once

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
  /// sum += in (u16: in >> shift)
  void (*add_row_u8)(const std::uint8_t* in, int n, std::uint16_t* sum) noexcept;
  void (*add_row_u16)(const std::uint16_t* in, int shift, int n, std::uint16_t* sum) noexcept;
  /// out[c] = scale * (the kRefineCell sums of cell c)
  void (*fold)(const std::uint16_t* sum, int cells, float scale, float* out) noexcept;
  /// out = a * b
  void (*product)(const float* a, const float* b, int n, float* out) noexcept;
  /// out += in
  void (*add)(const float* in, int n, float* out) noexcept;
  /// out -= in
  void (*subtract)(const float* in, int n, float* out) noexcept;
  /// out[i] = in[i] + ... + in[i + 2 * radius]
  void (*box)(const float* in, int radius, int n, float* out) noexcept;
  /// From means over a window (each times 1 / norm): alpha = slope * luma + offset, both in 0..1.
  void (*solve)(const float* luma, const float* alpha, const float* luma_squared, const float* product,
                float norm, float smoothness, int n, float* slope, float* offset) noexcept;
  /// out = in * scale, rounded
  void (*quantise)(const float* in, float scale, int n, std::int16_t* out) noexcept;
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
