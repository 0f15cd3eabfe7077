#include "cpu/kernels/conv_bf16/conv_bf16.h"
#include "cpu/simd/avx512_emulated_rows.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/conv_bf16/conv_bf16.inl"
}  // namespace

void conv_bf16(const compiler::KernelArgs& args) noexcept { run_conv_bf16(args); }
void conv_bf16_pixels(const ConvBf16State& s, const Bf16* src, const Bf16* residual, Bf16* dst,
                      std::int64_t pixels, std::int64_t b0, std::int64_t b1) noexcept {
  run_pixels(s, src, residual, dst, pixels, b0, b1);
}

}  // namespace saccade::cpu::avx512_emulated
