#include "cpu/kernels/attention/attention.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/attention/attention_pairs.inl"
}  // namespace

void attention_pairs(const compiler::KernelArgs& args) noexcept { run_attention_pairs(args); }

}  // namespace saccade::cpu::avx512
