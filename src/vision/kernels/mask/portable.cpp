#include <cstddef>

#include "vision/kernels/mask/mask_kernels.h"

namespace saccade::vision::portable {
namespace {
#include "vision/kernels/mask/loops.inl"
}  // namespace

const MaskKernels kMask = {
    Isa::portable,    sigmoid_loop,    softmax_share_loop, quantise_loop,      lerp_rows_loop, spread_loop,
    spread_u8_loop,   spread_u16_loop, threshold_u8_loop,  threshold_u16_loop, ramp_u8_loop,   ramp_u16_loop,
    argmax_cell_loop, raise_loop,      raise_loop,         lower_loop,         lower_loop,     weigh_loop,
    weigh_loop,       settle_loop,     settle_loop};

}  // namespace saccade::vision::portable
