#include "cpu/simd/avx2.h"

#include "cpu/kernels/depthwise/depthwise.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/depthwise/depthwise.inl"
}  // namespace

void depthwise_conv(const compiler::KernelArgs& args) noexcept { run_depthwise(args); }

}  // namespace saccade::cpu::avx2
