#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/elementwise/elementwise.inl"
}  // namespace

void elementwise_chain(const compiler::KernelArgs& args) noexcept { run_elementwise(args); }

}  // namespace saccade::cpu::avx512_emulated
