#include <immintrin.h>

#include <cstddef>

#include "vision/kernels/composite/composite_kernels.h"

namespace saccade::vision::avx512 {
namespace {
#include "vision/kernels/composite/loops.inl"
#include "vision/kernels/composite/x86.inl"
// After x86.inl, which it falls back on.
#include "vision/kernels/composite/avx512.inl"
}  // namespace

const CompositeKernels kComposite = {
    .isa = Isa::avx512,
    .blend_u8 = blend_u8_256,
    .blend_u16 = blend_u16_256,
    .blend_flat_u8 = blend_flat_u8_256,
    .blend_flat_u16 = blend_flat_u16_256,
    .blend_spread_u8 = blend_spread_u8_512,
    .blend_spread_u16 = blend_spread_u16_256,
    .chroma_alpha_u8 = chroma_alpha_u8_512,
    .chroma_alpha_u16 = chroma_alpha_u16_256,
    .cell_sums_u8 = cell_sums_u8_512,
    .cell_sums_u16 = cell_sums_u16_256,
    .fold_cells = fold_cells_loop,
    .blur_row = blur_row_512,
    .blur_column = blur_column_512,
    .normalise = normalise_loop,
    .lerp_rows = lerp_rows_512,
    .multiply_u8 = multiply_u8_loop,
    .multiply_u16 = multiply_u16_loop,
    .veil_u8 = veil_u8_loop,
    .veil_u16 = veil_u16_loop,
    .erase_u8 = erase_u8_256,
    .erase_u16 = erase_u16_loop,
    .unpack_u8 = unpack_u8_loop,
    .pack_u8 = pack_u8_loop,
};

}  // namespace saccade::vision::avx512
