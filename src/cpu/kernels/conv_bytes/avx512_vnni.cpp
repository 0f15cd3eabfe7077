#include "cpu/kernels/conv_bytes/conv_bytes.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/conv_bytes/conv_bytes.inl"
}  // namespace

void conv_bytes_quads(const compiler::KernelArgs& args) noexcept { run_conv_bytes<Quads>(args); }

}  // namespace saccade::cpu::avx512
