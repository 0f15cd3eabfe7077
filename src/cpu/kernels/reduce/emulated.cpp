#include "cpu/kernels/reduce/reduce.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/reduce/reduce.inl"
}  // namespace

void reduce_lines(const compiler::KernelArgs& args) noexcept { run_reduce<float>(args); }
void reduce_lines_bf16(const compiler::KernelArgs& args) noexcept { run_reduce<Bf16>(args); }
void mean_bytes(const compiler::KernelArgs& args) noexcept { run_mean_bytes(args); }

}  // namespace saccade::cpu::avx512_emulated
