#include "cpu/kernels/matmul/matmul.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/matmul/matmul_pairs.inl"
}  // namespace

void matmul_pairs(const compiler::KernelArgs& args) noexcept { run_matmul_pairs(args); }

}  // namespace saccade::cpu::avx512
