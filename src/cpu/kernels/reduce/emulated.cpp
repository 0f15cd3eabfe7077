#include "cpu/kernels/reduce/reduce.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/reduce/reduce.inl"
}  // namespace

void reduce_lines(const compiler::KernelArgs& args) noexcept { run_reduce<float>(args); }
void reduce_lines_bf16(const compiler::KernelArgs& args) noexcept { run_reduce<Bf16>(args); }

}  // namespace saccade::cpu::avx512_emulated
