#include "cpu/kernels/depthwise/depthwise.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/depthwise/depthwise.inl"
}  // namespace

void depthwise_conv_bf16_rounded(const compiler::KernelArgs& args) noexcept { run_depthwise<Bf16>(args); }

}  // namespace saccade::cpu::avx512
