#include "cpu/simd/avx2.h"

#include "cpu/kernels/depthwise/depthwise.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/depthwise/depthwise.inl"
}  // namespace

void depthwise_conv(const compiler::KernelArgs& args) noexcept { run_depthwise<float>(args); }
void depthwise_conv_bf16(const compiler::KernelArgs& args) noexcept { run_depthwise<Bf16>(args); }
void depthwise_rows(const DepthwiseTask<float>& task) noexcept { run_all_phases(task); }
void depthwise_rows(const DepthwiseTask<Bf16>& task) noexcept { run_all_phases(task); }

}  // namespace saccade::cpu::avx2
