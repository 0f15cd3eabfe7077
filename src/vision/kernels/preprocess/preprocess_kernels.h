// Kernels of the pre-processing: sampling of planes, colour conversion, interleaving. Every instruction set
// gives the same bits: no multiplication is fused with an addition.
#pragma once

#include <cstdint>

#include "saccade/isa.h"

namespace saccade::vision {

/// One row of one component: bilinear between two source rows at the places of a LinearAxis.
struct SampleRow {
  const void* row0;  ///< source rows, first sample of the component
  const void* row1;
  float fraction;              ///< weight of row1
  const std::int32_t* index;   ///< n left samples; index + 1 exists
  const std::int16_t* weight;  ///< n pairs of weights in 1 / 2^14
  int n;
  int step;  ///< distance of neighbours in samples (1 for the planar kernels)
  float* out;
};

/// One row of pixels: component values to normalised channels.
struct ConvertRow {
  const float* in[3];
  float matrix[3][3];  ///< to R, G, B (or B, G, R) in 0..255
  float offset[3];
  bool to_byte;             ///< round to whole numbers before normalising
  bool gray;                ///< one channel: BT.601 luma of R, G, B (in that order)
  const float* coverage;    ///< null, or a factor for each pixel
  float row_coverage;       ///< factor of the row
  float scale[3], bias[3];  ///< channel = value * scale + bias
  int n;
  float* out[3];
};

struct PreprocessKernels {
  Isa isa;
  void (*sample_u8)(const SampleRow&) noexcept;
  void (*sample_u16)(const SampleRow&) noexcept;
  void (*sample_step_u8)(const SampleRow&) noexcept;
  /// sum[i] += weight * row[i * step]
  void (*accumulate_u8)(const void* row, int step, float weight, float* sum, int n) noexcept;
  void (*accumulate_u16)(const void* row, int step, float weight, float* sum, int n) noexcept;
  void (*convert)(const ConvertRow&) noexcept;
  /// out[3 i + c] = in[c][i]
  void (*interleave3)(const float* in0, const float* in1, const float* in2, float* out, int n) noexcept;
};

namespace portable {
extern const PreprocessKernels kPreprocess;
}
namespace avx2 {
extern const PreprocessKernels kPreprocess;
}
namespace avx512 {
extern const PreprocessKernels kPreprocess;
}

}  // namespace saccade::vision
