#include <cstddef>

#include "vision/kernels/refine/refine_kernels.h"

namespace saccade::vision::avx512 {
namespace {
#include "vision/kernels/refine/loops.inl"
}  // namespace

const RefineKernels kRefine = {
    .isa = Isa::avx512,
    .add_row_u8 = add_row_u8_loop,
    .add_row_u16 = add_row_u16_loop,
    .fold = fold_loop,
    .product = product_loop,
    .add = add_loop,
    .subtract = subtract_loop,
    .box = box_loop,
    .solve = solve_loop,
    .quantise = quantise_loop,
    .apply_u8 = apply_u8_loop,
    .apply_u16 = apply_u16_loop,
};

}  // namespace saccade::vision::avx512
