#include <cstddef>

#include "vision/kernels/mosaic/mosaic_kernels.h"

namespace saccade::vision::portable {
namespace {
#include "vision/kernels/mosaic/loops.inl"
}  // namespace

const MosaicKernels kMosaic = {
    .isa = Isa::portable,
    .add_weighted = add_weighted_loop,
    .set_weighted = set_weighted_loop,
    .lerp = lerp_loop,
    .spread = spread_loop,
};

}  // namespace saccade::vision::portable
