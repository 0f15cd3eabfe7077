#include "cpu/simd/avx512.h"

#include "cpu/kernels/depthwise_bytes/depthwise_bytes.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/depthwise_bytes/depthwise_bytes.inl"
}  // namespace

void depthwise_bytes(const compiler::KernelArgs& args) noexcept { run_depthwise_bytes(args); }

}  // namespace saccade::cpu::avx512
