#include "cpu/simd/avx512.h"

#include "cpu/kernels/pool/pool.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/pool/pool.inl"
}  // namespace

void max_pool(const compiler::KernelArgs& args) noexcept { run_pool<Largest>(args); }
void average_pool(const compiler::KernelArgs& args) noexcept { run_pool<Average>(args); }

}  // namespace saccade::cpu::avx512
