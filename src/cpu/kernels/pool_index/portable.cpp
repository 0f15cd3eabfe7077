#include "cpu/simd/portable.h"

#include "cpu/kernels/pool_index/pool_index.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/pool_index/pool_index.inl"
}  // namespace

void max_index(const compiler::KernelArgs& args) noexcept { run_max_index(args); }
void unpool(const compiler::KernelArgs& args) noexcept { run_unpool(args); }

}  // namespace saccade::cpu::portable
