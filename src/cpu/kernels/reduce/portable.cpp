#include "cpu/simd/portable.h"

#include "cpu/kernels/reduce/reduce.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/reduce/reduce.inl"
}  // namespace

void reduce_lines(const compiler::KernelArgs& args) noexcept { run_reduce<float>(args); }
void reduce_lines_bf16(const compiler::KernelArgs& args) noexcept { run_reduce<Bf16>(args); }
void mean_bytes(const compiler::KernelArgs& args) noexcept { run_mean_bytes(args); }

}  // namespace saccade::cpu::portable
