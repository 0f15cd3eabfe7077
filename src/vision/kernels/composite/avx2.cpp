#include <immintrin.h>

#include <cstddef>

#include "vision/kernels/composite/composite_kernels.h"

namespace saccade::vision::avx2 {
namespace {
#include "vision/kernels/composite/loops.inl"
#include "vision/kernels/composite/x86.inl"
}  // namespace

const CompositeKernels kComposite = {Isa::avx2,
                                     blend_u8_256,
                                     blend_u16_loop,
                                     blend_flat_u8_256,
                                     blend_flat_u16_loop,
                                     blend_spread_u8_256,
                                     blend_spread_u16_loop,
                                     chroma_alpha_u8_256,
                                     chroma_alpha_u16_loop,
                                     cell_sums_u8_256,
                                     cell_sums_u16_loop,
                                     blur_row_loop,
                                     blur_column_loop,
                                     normalise_loop,
                                     lerp_rows_256,
                                     multiply_u8_loop,
                                     multiply_u16_loop,
                                     veil_u8_loop,
                                     veil_u16_loop,
                                     erase_u8_256,
                                     erase_u16_loop,
                                     unpack_u8_loop,
                                     pack_u8_loop};

}  // namespace saccade::vision::avx2
