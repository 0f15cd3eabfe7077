#include "cpu/simd/avx512.h"

#include "cpu/kernels/elementwise_bytes/elementwise_bytes.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/elementwise_bytes/elementwise_bytes.inl"
}  // namespace

void elementwise_bytes(const compiler::KernelArgs& args) noexcept { run_elementwise_bytes(args); }

}  // namespace saccade::cpu::avx512
