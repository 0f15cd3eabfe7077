#include "cpu/kernels/pool/pool.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/pool/pool.inl"
}  // namespace

void max_pool(const compiler::KernelArgs& args) noexcept { run_pool<OfFloats<Largest>, float>(args); }
void max_pool_bytes(const compiler::KernelArgs& args) noexcept { run_pool_bytes(args); }
void max_pool_bf16(const compiler::KernelArgs& args) noexcept { run_pool<OfFloats<Largest>, Bf16>(args); }
void average_pool_bf16(const compiler::KernelArgs& args) noexcept { run_pool<OfFloats<Average>, Bf16>(args); }
void average_pool(const compiler::KernelArgs& args) noexcept { run_pool<OfFloats<Average>, float>(args); }

}  // namespace saccade::cpu::avx512_emulated
