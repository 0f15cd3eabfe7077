#include "cpu/kernels/tile/tile.h"
#include "cpu/kernels/winograd/winograd.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/winograd/winograd.inl"
}  // namespace

void winograd_4_rounded(const compiler::KernelArgs& args) noexcept { run_winograd<4>(args); }
void winograd_6_rounded(const compiler::KernelArgs& args) noexcept { run_winograd<6>(args); }
void winograd_8_rounded(const compiler::KernelArgs& args) noexcept { run_winograd<8>(args); }

}  // namespace saccade::cpu::avx512
