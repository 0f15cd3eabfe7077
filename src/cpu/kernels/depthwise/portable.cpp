#include "cpu/simd/portable.h"

#include "cpu/kernels/depthwise/depthwise.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/depthwise/depthwise.inl"
}  // namespace

void depthwise_conv(const compiler::KernelArgs& args) noexcept { run_depthwise(args); }
void depthwise_rows(const DepthwiseTask& task) noexcept { run_all_phases(task); }

}  // namespace saccade::cpu::portable
