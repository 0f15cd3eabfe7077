#include <immintrin.h>

#include <cstddef>

#include "vision/kernels/refine/refine_kernels.h"

namespace saccade::vision::avx512 {
namespace {
#include "vision/kernels/refine/loops.inl"
#include "vision/kernels/refine/x86.inl"
}  // namespace

const RefineKernels kRefine = {
    .isa = Isa::avx512,
    .means_u8 = means_u8_256,
    .means_u16 = means_u16_loop,
    .add_moments = add_moments_loop,
    .slide_moments = slide_moments_loop,
    .solve = solve_256,
    .add = add_loop,
    .slide = slide_loop,
    .box_quantise = box_quantise_256,
    .apply_u8 = apply_u8_256,
    .apply_u16 = apply_u16_loop,
};

}  // namespace saccade::vision::avx512
