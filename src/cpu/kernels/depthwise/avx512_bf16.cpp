#include "cpu/kernels/depthwise/depthwise.h"
#include "cpu/simd/avx512_rows.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/depthwise/depthwise.inl"
#include "cpu/kernels/depthwise/paired_tile.inl"
}  // namespace

void depthwise_conv_bf16_rounded(const compiler::KernelArgs& args) noexcept { run_depthwise<Bf16>(args); }
void depthwise_conv_bf16_paired(const compiler::KernelArgs& args) noexcept {
  run_depthwise<PairedBf16>(args);
}
void depthwise_rows(const DepthwiseTask<PairedBf16>& task) noexcept { run_all_phases(task); }

}  // namespace saccade::cpu::avx512
