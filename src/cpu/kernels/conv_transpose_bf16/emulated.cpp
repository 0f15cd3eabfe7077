#include "cpu/kernels/conv_transpose_bf16/conv_transpose_bf16.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/conv_transpose_bf16/conv_transpose_bf16.inl"
}  // namespace

void conv_transpose_bf16(const compiler::KernelArgs& args) noexcept { run_conv_transpose(args); }

}  // namespace saccade::cpu::avx512_emulated
