#include "cpu/simd/avx512.h"

#include "cpu/kernels/conv_stem/conv_stem.h"
#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/conv_stem/conv_stem.inl"
}  // namespace

void conv_stem(const compiler::KernelArgs& args) noexcept { run_conv_stem(args); }

}  // namespace saccade::cpu::avx512
