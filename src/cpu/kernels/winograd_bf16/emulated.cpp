#include "cpu/kernels/tile/tile.h"
#include "cpu/kernels/winograd_bf16/winograd_bf16.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/winograd_bf16/winograd_bf16.inl"
}  // namespace

void winograd_bf16(const compiler::KernelArgs& args) noexcept { run_winograd(args); }

}  // namespace saccade::cpu::avx512_emulated
