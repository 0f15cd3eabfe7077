#include "cpu/simd/portable.h"

#include "cpu/kernels/elementwise_bytes/elementwise_bytes.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/elementwise_bytes/elementwise_bytes.inl"
}  // namespace

void elementwise_bytes(const compiler::KernelArgs& args) noexcept { run_elementwise_bytes(args); }

}  // namespace saccade::cpu::portable
