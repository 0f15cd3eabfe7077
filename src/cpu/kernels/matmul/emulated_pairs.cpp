#include "cpu/kernels/matmul/matmul.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/matmul/matmul_pairs.inl"
}  // namespace

void matmul_pairs(const compiler::KernelArgs& args) noexcept { run_matmul_pairs(args); }

}  // namespace saccade::cpu::avx512_emulated
