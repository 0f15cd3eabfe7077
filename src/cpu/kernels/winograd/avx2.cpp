#include "cpu/simd/avx2.h"

#include "cpu/kernels/tile/tile.h"
#include "cpu/kernels/winograd/winograd.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/winograd/winograd.inl"
}  // namespace

void winograd_4(const compiler::KernelArgs& args) noexcept { run_winograd<4>(args); }
void winograd_6(const compiler::KernelArgs& args) noexcept { run_winograd<6>(args); }
void winograd_8(const compiler::KernelArgs& args) noexcept { run_winograd<8>(args); }

}  // namespace saccade::cpu::avx2
