#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/elementwise/elementwise.inl"
}  // namespace

void elementwise_chain_rounded(const compiler::KernelArgs& args) noexcept { run_elementwise(args); }

}  // namespace saccade::cpu::avx512
