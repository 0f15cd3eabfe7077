#include <cstddef>

#include "vision/kernels/mosaic/mosaic_kernels.h"

namespace saccade::vision::avx2 {
namespace {
#include "vision/kernels/mosaic/loops.inl"
}  // namespace

const MosaicKernels kMosaic = {
    .isa = Isa::avx2,
    .add_weighted = add_weighted_loop,
    .raise = raise_loop,
};

}  // namespace saccade::vision::avx2
