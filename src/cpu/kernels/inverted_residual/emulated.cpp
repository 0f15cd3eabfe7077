#include "cpu/kernels/inverted_residual/inverted_residual.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/inverted_residual/inverted_residual.inl"
}  // namespace

void inverted_residual(const compiler::KernelArgs& args) noexcept { run_inverted_residual(args); }

}  // namespace saccade::cpu::avx512_emulated
