#include "cpu/kernels/pool_index/pool_index.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/pool_index/pool_index.inl"
}  // namespace

void max_index(const compiler::KernelArgs& args) noexcept { run_max_index(args); }
void unpool(const compiler::KernelArgs& args) noexcept { run_unpool(args); }

}  // namespace saccade::cpu::avx512_emulated
