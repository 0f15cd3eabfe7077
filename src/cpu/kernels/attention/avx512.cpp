#include "cpu/simd/avx512.h"

#include "cpu/kernels/attention/attention.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/attention/attention.inl"
}  // namespace

void attention(const compiler::KernelArgs& args) noexcept { run_attention(args); }

}  // namespace saccade::cpu::avx512
