#include "cpu/kernels/elementwise_bytes/elementwise_bytes.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/elementwise_bytes/elementwise_bytes.inl"
}  // namespace

void elementwise_bytes(const compiler::KernelArgs& args) noexcept { run_elementwise_bytes(args); }

}  // namespace saccade::cpu::avx512_emulated
