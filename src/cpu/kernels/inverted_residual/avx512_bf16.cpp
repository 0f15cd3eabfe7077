#include "cpu/kernels/inverted_residual/inverted_residual.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/inverted_residual/bf16_layer.inl"
#include "cpu/kernels/inverted_residual/inverted_residual.inl"
}  // namespace

void inverted_residual_bf16(const compiler::KernelArgs& args) noexcept {
  run_inverted_residual<ConvBf16State>(args);
}

}  // namespace saccade::cpu::avx512
