#include "cpu/kernels/pointwise/pointwise.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/pointwise/pointwise.inl"
}  // namespace

void conv_pointwise(const compiler::KernelArgs& args) noexcept { run_pointwise(args); }
void conv_single(const compiler::KernelArgs& args) noexcept { run_single(args); }
void pointwise_pixels(const PointwiseState& state, const float* src, const float* residual, float* dst,
                      std::int64_t pixels, std::int64_t b0, std::int64_t b1) noexcept {
  multiply_pixels(state, state.weights, src, state.src_pixel, {residual, dst, false, false, nullptr}, 0,
                  pixels, b0, b1);
}

}  // namespace saccade::cpu::avx512_emulated
