#include "cpu/kernels/conv_bytes/conv_bytes.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/conv_bytes/conv_bytes.inl"
}  // namespace

void conv_bytes(const compiler::KernelArgs& args) noexcept { run_conv_bytes<Shorts>(args); }

void conv_bytes_quads(const compiler::KernelArgs& args) noexcept { run_conv_bytes<Quads>(args); }

}  // namespace saccade::cpu::avx512_emulated
