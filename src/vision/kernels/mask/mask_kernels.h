// Kernels of the mask: probabilities, 15-bit rows, enlarging, thresholds, arg max in a cell, and the shape of
// the result. Every instruction set gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "saccade/isa.h"
#include "vision/kernels/spread_table.h"

namespace saccade::vision {

/// Arg max over the candidate classes in one cell of the network's output, see ClassMapper.
struct ArgmaxCell {
  const float* top_left;  ///< logits of the corners, by candidate
  const float* top_right;
  const float* bottom_left;
  const float* bottom_right;
  const std::uint8_t* candidate;  ///< class numbers, ascending
  int candidates;
  const float* across;  ///< weight of the right corners for each of `width` pixels
  const float* down;    ///< weight of the lower corners for each of `height` pixels
  int width, height;
  std::uint8_t* out;
  std::ptrdiff_t stride;
};

constexpr int kUniformBlock = 32;

struct MaskKernels {
  Isa isa;
  /// out[i] = 1 / (1 + exp(-in[i * step]))
  void (*sigmoid)(const float* in, std::ptrdiff_t step, int n, float* out) noexcept;
  /// Sum of the softmax probabilities of the selected channels (selected[c] != 0) of n pixels; 1 or 0 where
  /// the selected channels are ahead of the others, or behind them, by more than `bound`.
  void (*softmax_share)(const float* in, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step, int channels,
                        const std::uint8_t* selected, float bound, int n, float* out) noexcept;
  /// out[c * pitch + i] = in[c * channel_step + i * pixel_step]
  void (*to_planes)(const float* in, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step, int channels,
                    int n, float* out, std::ptrdiff_t pitch) noexcept;
  /// Of n pixels that lie side by side: the channel with the largest value, the first among equals, and its
  /// lead over the second largest. `largest` becomes the largest magnitude, if it is not larger already.
  void (*leaders)(const float* in, std::ptrdiff_t channel_step, int channels, int n, float* lead,
                  std::uint8_t* number, float* largest) noexcept;
  /// Probabilities to 0..32767, rounded; what is not a number becomes 0.
  void (*quantise)(const float* in, std::ptrdiff_t step, int n, std::int16_t* out) noexcept;
  /// out = a + (b - a) * weight / 2^15, rounded
  void (*lerp_rows)(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, int n,
                    std::int16_t* out) noexcept;
  void (*spread)(const std::int16_t* row, const SpreadTable& table, std::int16_t* out) noexcept;
  /// spread, then value * multiplier / 2^15, rounded (multiplier 255: alpha of 8 bits; 256: samples kept
  /// as 8.7 bits)
  void (*spread_u8)(const std::int16_t* row, const SpreadTable& table, std::int16_t multiplier,
                    std::uint8_t* out) noexcept;
  void (*spread_u16)(const std::int16_t* row, const SpreadTable& table, std::int16_t multiplier,
                     std::uint16_t* out) noexcept;
  /// value > threshold ? above : below
  void (*threshold_u8)(const std::int16_t* in, std::int16_t threshold, std::uint8_t above, std::uint8_t below,
                       int n, std::uint8_t* out) noexcept;
  void (*threshold_u16)(const std::int16_t* in, std::int16_t threshold, std::uint16_t above,
                        std::uint16_t below, int n, std::uint16_t* out) noexcept;
  /// clamp(0.5 + (value / 32767 - threshold) * slope) * top, rounded; a negative slope inverts
  void (*ramp_u8)(const std::int16_t* in, float threshold, float slope, float top, int n,
                  std::uint8_t* out) noexcept;
  void (*ramp_u16)(const std::int16_t* in, float threshold, float slope, float top, int n,
                   std::uint16_t* out) noexcept;
  /// beaten[c] |= class `best` is ahead of class c by more than `doubt` in all of a, b, d and e.
  void (*mark_beaten)(const float* a, const float* b, const float* d, const float* e, int best, float doubt,
                      int channels, std::int32_t* beaten) noexcept;
  void (*argmax_cell)(const ArgmaxCell&) noexcept;
  /// out = max (min) of out and in
  void (*raise_u8)(const std::uint8_t* in, std::uint8_t* out, int n) noexcept;
  void (*raise_u16)(const std::uint16_t* in, std::uint16_t* out, int n) noexcept;
  void (*lower_u8)(const std::uint8_t* in, std::uint8_t* out, int n) noexcept;
  void (*lower_u16)(const std::uint16_t* in, std::uint16_t* out, int n) noexcept;
  /// out[b] = the value that all samples of block b have, or -1; blocks of kUniformBlock samples
  void (*uniform_u8)(const std::uint8_t* in, int n, std::int32_t* out) noexcept;
  void (*uniform_u16)(const std::uint16_t* in, int n, std::int32_t* out) noexcept;
  /// sum = weight * in
  void (*scale_u8)(const std::uint8_t* in, std::uint32_t weight, std::uint32_t* sum, int n) noexcept;
  void (*scale_u16)(const std::uint16_t* in, std::uint32_t weight, std::uint32_t* sum, int n) noexcept;
  /// sum += weight * (a + b)
  void (*weigh_u8)(const std::uint8_t* a, const std::uint8_t* b, std::uint32_t weight, std::uint32_t* sum,
                   int n) noexcept;
  void (*weigh_u16)(const std::uint16_t* a, const std::uint16_t* b, std::uint32_t weight, std::uint32_t* sum,
                    int n) noexcept;
  /// out = (sum + half) >> shift
  void (*settle_u8)(const std::uint32_t* sum, int shift, int n, std::uint8_t* out) noexcept;
  void (*settle_u16)(const std::uint32_t* sum, int shift, int n, std::uint16_t* out) noexcept;
};

namespace portable {
extern const MaskKernels kMask;
}
namespace avx2 {
extern const MaskKernels kMask;
}
namespace avx512 {
extern const MaskKernels kMask;
}

}  // namespace saccade::vision
