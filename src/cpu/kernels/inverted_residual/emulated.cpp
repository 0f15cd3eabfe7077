#include "cpu/kernels/inverted_residual/inverted_residual.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/inverted_residual/bf16_layer.inl"
#include "cpu/kernels/inverted_residual/float_layer.inl"
#include "cpu/kernels/inverted_residual/inverted_residual.inl"
}  // namespace

void inverted_residual(const compiler::KernelArgs& args) noexcept {
  run_inverted_residual<PointwiseState>(args);
}
void inverted_residual_bf16(const compiler::KernelArgs& args) noexcept {
  run_inverted_residual<ConvBf16State>(args);
}

}  // namespace saccade::cpu::avx512_emulated
