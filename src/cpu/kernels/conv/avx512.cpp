#include "cpu/simd/avx512.h"

#include "cpu/kernels/conv/conv.h"
#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/conv/conv.inl"
}  // namespace

void conv_dense(const compiler::KernelArgs& args) noexcept { run_conv(args); }

}  // namespace saccade::cpu::avx512
