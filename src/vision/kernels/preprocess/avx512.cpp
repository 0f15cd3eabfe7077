#include <immintrin.h>

#include <cstddef>

#include "vision/kernels/preprocess/preprocess_kernels.h"

namespace saccade::vision::avx512 {
namespace {
#include "vision/kernels/preprocess/loops.inl"
#include "vision/kernels/preprocess/x86.inl"
}  // namespace

const PreprocessKernels kPreprocess = {Isa::avx512,    sample_u8_256,      sample_u16_256,
                                       sample_u8_loop, accumulate_u8_loop, accumulate_u16_loop,
                                       convert_loop,   interleave3_256};

}  // namespace saccade::vision::avx512
