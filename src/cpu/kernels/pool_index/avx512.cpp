#include "cpu/simd/avx512.h"

#include "cpu/kernels/pool_index/pool_index.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/pool_index/pool_index.inl"
}  // namespace

void max_index(const compiler::KernelArgs& args) noexcept { run_max_index(args); }
void unpool(const compiler::KernelArgs& args) noexcept { run_unpool(args); }

}  // namespace saccade::cpu::avx512
