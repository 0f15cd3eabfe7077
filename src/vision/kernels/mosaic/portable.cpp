#include <cstddef>

#include "vision/kernels/mosaic/mosaic_kernels.h"

namespace saccade::vision::portable {
namespace {
#include "vision/kernels/mosaic/loops.inl"
}  // namespace

const MosaicKernels kMosaic = {
    .isa = Isa::portable,
    .add_weighted = add_weighted_loop,
    .raise = raise_loop,
};

}  // namespace saccade::vision::portable
