#include "cpu/simd/avx2.h"

#include "cpu/kernels/elementwise_bytes/elementwise_bytes.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/elementwise_bytes/elementwise_bytes.inl"
}  // namespace

void elementwise_bytes(const compiler::KernelArgs& args) noexcept { run_elementwise_bytes(args); }

}  // namespace saccade::cpu::avx2
