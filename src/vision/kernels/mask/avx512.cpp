#include <immintrin.h>

#include <cstddef>

#include "vision/kernels/mask/mask_kernels.h"

namespace saccade::vision::avx512 {
namespace {
#include "vision/kernels/mask/loops.inl"
#include "vision/kernels/mask/x86.inl"
// After x86.inl, which it falls back on.
#include "vision/kernels/mask/avx512.inl"
}  // namespace

const MaskKernels kMask = {
    .isa = Isa::avx512,
    .sigmoid = sigmoid_loop,
    .softmax_share = softmax_share_256,
    .to_planes = to_planes_256,
    .leaders = leaders_256,
    .quantise = quantise_loop,
    .lerp_rows = lerp_rows_512,
    .spread = spread_256,
    .spread_u8 = spread_u8_512,
    .spread_u16 = spread_u16_256,
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

}  // namespace saccade::vision::avx512
