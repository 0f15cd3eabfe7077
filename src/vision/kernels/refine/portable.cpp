#include <cstddef>

#include "vision/kernels/refine/refine_kernels.h"

namespace saccade::vision::portable {
namespace {
#include "vision/kernels/refine/loops.inl"
}  // namespace

const RefineKernels kRefine = {
    .isa = Isa::portable,
    .means_u8 = means_u8_loop,
    .means_u16 = means_u16_loop,
    .add_moments = add_moments_loop,
    .slide_moments = slide_moments_loop,
    .solve = solve_loop,
    .add = add_loop,
    .slide = slide_loop,
    .box_quantise = box_quantise_loop,
    .apply_u8 = apply_u8_loop,
    .apply_u16 = apply_u16_loop,
};

}  // namespace saccade::vision::portable
