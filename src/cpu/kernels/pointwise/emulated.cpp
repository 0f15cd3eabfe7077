#include "cpu/kernels/pointwise/pointwise.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/pointwise/pointwise.inl"
}  // namespace

void conv_pointwise(const compiler::KernelArgs& args) noexcept { run_pointwise(args); }
void conv_single(const compiler::KernelArgs& args) noexcept { run_single(args); }

}  // namespace saccade::cpu::avx512_emulated
