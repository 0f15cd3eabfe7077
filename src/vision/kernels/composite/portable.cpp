#include <cstddef>

#include "vision/kernels/composite/composite_kernels.h"

namespace saccade::vision::portable {
namespace {
#include "vision/kernels/composite/loops.inl"
}  // namespace

const CompositeKernels kComposite = {
    Isa::portable,         blend_u8_loop,        blend_u16_loop,        blend_flat_u8_loop,
    blend_flat_u16_loop,   blend_spread_u8_loop, blend_spread_u16_loop, chroma_alpha_u8_loop,
    chroma_alpha_u16_loop, cell_sums_u8_loop,    cell_sums_u16_loop,    blur_row_loop,
    blur_column_loop,      normalise_loop,       lerp_rows_loop,        multiply_u8_loop,
    multiply_u16_loop,     veil_u8_loop,         veil_u16_loop,         erase_u8_loop,
    erase_u16_loop,        unpack_u8_loop,       pack_u8_loop};

}  // namespace saccade::vision::portable
