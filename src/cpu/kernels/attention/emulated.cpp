#include "cpu/kernels/attention/attention.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/attention/attention.inl"
}  // namespace

void attention(const compiler::KernelArgs& args) noexcept { run_attention(args); }

}  // namespace saccade::cpu::avx512_emulated
