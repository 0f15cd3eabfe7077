#include <cstddef>

#include "vision/kernels/preprocess/preprocess_kernels.h"

namespace saccade::vision::portable {
namespace {
#include "vision/kernels/preprocess/loops.inl"
}  // namespace

const PreprocessKernels kPreprocess = {Isa::portable,  sample_u8_loop,     sample_u16_loop,
                                       sample_u8_loop, accumulate_u8_loop, accumulate_u16_loop,
                                       convert_loop,   interleave3_loop};

}  // namespace saccade::vision::portable
