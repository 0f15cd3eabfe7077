#include "cpu/kernels/tile/tile.h"
#include "cpu/kernels/winograd/winograd.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/winograd/winograd.inl"
}  // namespace

void winograd_4(const compiler::KernelArgs& args) noexcept { run_winograd<4>(args); }
void winograd_6(const compiler::KernelArgs& args) noexcept { run_winograd<6>(args); }
void winograd_8(const compiler::KernelArgs& args) noexcept { run_winograd<8>(args); }

}  // namespace saccade::cpu::avx512_emulated
