// Kernels of the compositing: blends, chroma alpha, the sums of the blur, packing. `depth` is that of samples
// and alpha; alpha is full at 2^depth - 1. A target may be the source itself. Every instruction set gives the
// same bits.
#pragma once

#include <cstdint>

#include "saccade/isa.h"
#include "vision/kernels/spread_table.h"

namespace saccade::vision {

/// The alpha of one row of subsampled chroma: the mean of `rows` rows of luma alpha, in each of two
/// neighbours
/// (`cosited` false) or of three with weights 1, 2, 1 around the even column.
struct ChromaAlpha {
  const void* row[4];
  int rows;  ///< 1, 2 or 4 (a row may stand twice)
  bool cosited;
  int luma_width;
  int width;
  void* out;
};

/// Sums over cells of `1 << shift` samples: of the weights that alpha gives, and of weight * value.
struct CellSums {
  const void* value;
  const void* alpha;
  int depth;
  int shift;  ///< at most 2
  int n;
  std::uint32_t* weight_sum;  ///< added to; null: not wanted
  std::uint32_t* value_sum;   ///< added to
};

/// One row blurred along itself; `in` has `radius` zeros before and after its n values.
struct BlurRow {
  const float* in;
  const float* taps;  ///< at distance 0, 1, ... radius
  int radius;
  int n;
  float* out;
};

struct CompositeKernels {
  Isa isa;
  /// out = (source * alpha + background * (full - alpha)) / full, rounded to nearest
  void (*blend_u8)(const std::uint8_t* source, const std::uint8_t* background, const std::uint8_t* alpha,
                   int n, std::uint8_t* out) noexcept;
  void (*blend_u16)(const std::uint16_t* source, const std::uint16_t* background, const std::uint16_t* alpha,
                    int depth, int n, std::uint16_t* out) noexcept;
  void (*blend_flat_u8)(const std::uint8_t* source, std::uint8_t background, const std::uint8_t* alpha, int n,
                        std::uint8_t* out) noexcept;
  void (*blend_flat_u16)(const std::uint16_t* source, std::uint16_t background, const std::uint16_t* alpha,
                         int depth, int n, std::uint16_t* out) noexcept;
  /// The background is enlarged from a row of values << (15 - depth).
  void (*blend_spread_u8)(const std::uint8_t* source, const std::int16_t* row, const SpreadTable& table,
                          const std::uint8_t* alpha, std::uint8_t* out) noexcept;
  void (*blend_spread_u16)(const std::uint16_t* source, const std::int16_t* row, const SpreadTable& table,
                           const std::uint16_t* alpha, int depth, std::uint16_t* out) noexcept;
  void (*chroma_alpha_u8)(const ChromaAlpha&) noexcept;
  void (*chroma_alpha_u16)(const ChromaAlpha&) noexcept;
  void (*cell_sums_u8)(const CellSums&) noexcept;
  void (*cell_sums_u16)(const CellSums&) noexcept;
  /// out[i] = sum of the `per_cell` sums from in[i * per_cell] on
  void (*fold_cells)(const std::uint32_t* in, int per_cell, int n, float* out) noexcept;
  void (*blur_row)(const BlurRow&) noexcept;
  /// out[i] = sum over k of taps[k] * (above[k][i] + below[k][i]); row 0 counts once. Rows may be null: zero.
  void (*blur_column)(const float* const* above, const float* const* below, const float* taps, int radius,
                      int n, float* out) noexcept;
  /// out = value / weight * scale, rounded; 0 where weight is 0
  void (*normalise)(const float* value, const float* weight, float scale, int n, std::int16_t* out) noexcept;
  void (*lerp_rows)(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, int n,
                    std::int16_t* out) noexcept;
  /// out = a * b / full, rounded to nearest
  void (*multiply_u8)(const std::uint8_t* a, const std::uint8_t* b, int n, std::uint8_t* out) noexcept;
  void (*multiply_u16)(const std::uint16_t* a, const std::uint16_t* b, int depth, int n,
                       std::uint16_t* out) noexcept;
  /// out = full - alpha * opacity / full, rounded to nearest
  void (*veil_u8)(const std::uint8_t* alpha, std::uint8_t opacity, int n, std::uint8_t* out) noexcept;
  void (*veil_u16)(const std::uint16_t* alpha, std::uint16_t opacity, int depth, int n,
                   std::uint16_t* out) noexcept;
  /// out = alpha == 0 ? value : source
  void (*erase_u8)(const std::uint8_t* source, const std::uint8_t* alpha, std::uint8_t value, int n,
                   std::uint8_t* out) noexcept;
  void (*erase_u16)(const std::uint16_t* source, const std::uint16_t* alpha, std::uint16_t value, int n,
                    std::uint16_t* out) noexcept;
  /// out[i] = in[i * step], and back
  void (*unpack_u8)(const std::uint8_t* in, int step, int n, std::uint8_t* out) noexcept;
  void (*pack_u8)(const std::uint8_t* in, int step, int n, std::uint8_t* out) noexcept;
};

namespace portable {
extern const CompositeKernels kComposite;
}
namespace avx2 {
extern const CompositeKernels kComposite;
}
namespace avx512 {
extern const CompositeKernels kComposite;
}

}  // namespace saccade::vision
