#include "cpu/simd/avx512.h"

#include "cpu/kernels/deform_conv/deform_conv.h"
#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/deform_conv/deform_conv.inl"
}  // namespace

void deform_conv(const compiler::KernelArgs& args) noexcept { run_deform_conv(args); }

}  // namespace saccade::cpu::avx512
