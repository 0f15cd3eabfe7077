#include "cpu/kernels/pool/pool.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/pool/pool.inl"
}  // namespace

void max_pool(const compiler::KernelArgs& args) noexcept { run_pool<Largest>(args); }
void average_pool(const compiler::KernelArgs& args) noexcept { run_pool<Average>(args); }

}  // namespace saccade::cpu::avx512_emulated
