#include <immintrin.h>

#include <cstddef>

#include "vision/kernels/mosaic/mosaic_kernels.h"

namespace saccade::vision::avx2 {
namespace {
#include "vision/kernels/mosaic/loops.inl"
#include "vision/kernels/mosaic/x86.inl"
}  // namespace

const MosaicKernels kMosaic = {
    .isa = Isa::avx2,
    .add_weighted = add_weighted_loop,
    .set_weighted = set_weighted_loop,
    .lerp = lerp_loop,
    .spread = spread_256,
};

}  // namespace saccade::vision::avx2
