#include "cpu/simd/portable.h"

#include "cpu/kernels/tile/tile.h"
#include "cpu/kernels/winograd/winograd.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/winograd/winograd.inl"
}  // namespace

void winograd_4(const compiler::KernelArgs& args) noexcept { run_winograd<4>(args); }
void winograd_6(const compiler::KernelArgs& args) noexcept { run_winograd<6>(args); }
void winograd_8(const compiler::KernelArgs& args) noexcept { run_winograd<8>(args); }

}  // namespace saccade::cpu::portable
