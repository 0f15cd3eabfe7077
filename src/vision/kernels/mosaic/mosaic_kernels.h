// Kernels that put the results of a picture's parts together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "saccade/isa.h"

namespace saccade::vision {

struct MosaicKernels {
  Isa isa;
  /// sum[i] += in[i * step] * (weight[i] * row_weight)
  void (*add_weighted)(const float* in, std::ptrdiff_t step, const float* weight, float row_weight, int n,
                       float* sum) noexcept;
  /// Where in is above best: best becomes in, number becomes `channel`.
  void (*raise)(const float* in, std::uint8_t channel, int n, float* best, std::uint8_t* number) noexcept;
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
