#include <cstddef>

#include "vision/kernels/mosaic/mosaic_kernels.h"

namespace saccade::vision::avx512 {
namespace {
#include "vision/kernels/mosaic/loops.inl"
}  // namespace

const MosaicKernels kMosaic = {
    .isa = Isa::avx512,
    .add_weighted = add_weighted_loop,
    .raise = raise_loop,
};

}  // namespace saccade::vision::avx512
