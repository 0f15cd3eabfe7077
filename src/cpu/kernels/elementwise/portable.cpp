#include "cpu/simd/portable.h"

#include "cpu/kernels/elementwise/elementwise.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/elementwise/elementwise.inl"
}  // namespace

void elementwise_chain(const compiler::KernelArgs& args) noexcept { run_elementwise(args); }

}  // namespace saccade::cpu::portable
