#include <cstddef>

#include "vision/kernels/mask/mask_kernels.h"

namespace saccade::vision::portable {
namespace {
#include "vision/kernels/mask/loops.inl"
}  // namespace

const MaskKernels kMask = {
    .isa = Isa::portable,
    .sigmoid = sigmoid_loop,
    .softmax_share = softmax_share_loop,
    .to_planes = to_planes_loop,
    .leaders = leaders_loop,
    .quantise = quantise_loop,
    .lerp_rows = lerp_rows_loop,
    .spread = spread_loop,
    .spread_u8 = spread_u8_loop,
    .spread_u16 = spread_u16_loop,
    .threshold_u8 = threshold_u8_loop,
    .threshold_u16 = threshold_u16_loop,
    .ramp_u8 = ramp_u8_loop,
    .ramp_u16 = ramp_u16_loop,
    .mark_beaten = mark_beaten_loop,
    .argmax_cell = argmax_cell_loop,
    .raise_u8 = raise_loop,
    .raise_u16 = raise_loop,
    .lower_u8 = lower_loop,
    .lower_u16 = lower_loop,
    .uniform_u8 = uniform_loop,
    .uniform_u16 = uniform_loop,
    .scale_u8 = scale_loop,
    .scale_u16 = scale_loop,
    .weigh_u8 = weigh_loop,
    .weigh_u16 = weigh_loop,
    .settle_u8 = settle_loop,
    .settle_u16 = settle_loop,
};

}  // namespace saccade::vision::portable
