#include "cpu/simd/portable.h"

#include "cpu/kernels/depthwise_bytes/depthwise_bytes.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/depthwise_bytes/depthwise_bytes.inl"
}  // namespace

void depthwise_bytes(const compiler::KernelArgs& args) noexcept { run_depthwise_bytes(args); }

}  // namespace saccade::cpu::portable
