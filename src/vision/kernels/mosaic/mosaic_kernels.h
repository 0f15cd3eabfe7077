// Kernels that put the results of a picture's parts together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "saccade/isa.h"
#include "vision/kernels/spread_table.h"

namespace saccade::vision {

struct MosaicKernels {
  Isa isa;
  /// sum[i] += in[i] * (weight[i] * row_weight)
  void (*add_weighted)(const float* in, const float* weight, float row_weight, int n, float* sum) noexcept;
  /// sum[i] = in[i] * (weight[i] * row_weight)
  void (*set_weighted)(const float* in, const float* weight, float row_weight, int n, float* sum) noexcept;
  /// out = a + (b - a) * weight
  void (*lerp)(const float* a, const float* b, float weight, int n, float* out) noexcept;
  /// Targets [begin, end) between their neighbours in `row`, as the table and `fraction` say; out[0] is
  /// `begin`'s.
  void (*spread)(const float* row, const SpreadTable& table, const float* fraction, int begin, int end,
                 float* out) noexcept;
};

namespace portable {
extern const MosaicKernels kMosaic;
}
namespace avx2 {
extern const MosaicKernels kMosaic;
}
namespace avx512 {
extern const MosaicKernels kMosaic;
}

}  // namespace saccade::vision
