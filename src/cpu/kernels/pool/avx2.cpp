#include "cpu/simd/avx2.h"

#include "cpu/kernels/pool/pool.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/pool/pool.inl"
}  // namespace

void max_pool(const compiler::KernelArgs& args) noexcept { run_pool<Largest>(args); }
void average_pool(const compiler::KernelArgs& args) noexcept { run_pool<Average>(args); }

}  // namespace saccade::cpu::avx2
