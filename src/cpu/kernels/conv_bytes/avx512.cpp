#include "cpu/simd/avx512.h"

#include "cpu/kernels/conv_bytes/conv_bytes.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/conv_bytes/conv_bytes.inl"
}  // namespace

void conv_bytes(const compiler::KernelArgs& args) noexcept { run_conv_bytes<Shorts>(args); }

}  // namespace saccade::cpu::avx512
