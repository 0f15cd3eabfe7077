#include "cpu/simd/avx512.h"

#include "cpu/kernels/matmul/matmul.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/matmul/matmul.inl"
}  // namespace

void matmul(const compiler::KernelArgs& args) noexcept { run_matmul(args); }

}  // namespace saccade::cpu::avx512
