#include "cpu/kernels/depthwise_bytes/depthwise_bytes.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/depthwise_bytes/depthwise_bytes.inl"
}  // namespace

void depthwise_bytes(const compiler::KernelArgs& args) noexcept { run_depthwise_bytes(args); }

}  // namespace saccade::cpu::avx512_emulated
