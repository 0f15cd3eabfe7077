#include <immintrin.h>

#include <cstddef>

#include "vision/kernels/mask/mask_kernels.h"

namespace saccade::vision::avx2 {
namespace {
#include "vision/kernels/mask/loops.inl"
#include "vision/kernels/mask/x86.inl"
}  // namespace

const MaskKernels kMask = {
    Isa::avx2,        sigmoid_loop,   softmax_share_loop, quantise_loop,      lerp_rows_256, spread_256,
    spread_u8_256,    spread_u16_256, threshold_u8_loop,  threshold_u16_loop, ramp_u8_loop,  ramp_u16_loop,
    argmax_cell_loop, raise_loop,     raise_loop,         lower_loop,         lower_loop,    weigh_loop,
    weigh_loop,       settle_loop,    settle_loop};

}  // namespace saccade::vision::avx2
