#include "cpu/kernels/matmul/matmul.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/matmul/matmul.inl"
}  // namespace

void matmul(const compiler::KernelArgs& args) noexcept { run_matmul(args); }

}  // namespace saccade::cpu::avx512_emulated
