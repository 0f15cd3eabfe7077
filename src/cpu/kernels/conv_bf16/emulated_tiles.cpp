#include "cpu/kernels/conv_bf16/conv_bf16.h"
#include "cpu/simd/amx_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/conv_bf16/conv_tiles.inl"
}  // namespace

void conv_tiles(const compiler::KernelArgs& args) noexcept { run_conv_tiles(args); }

}  // namespace saccade::cpu::avx512_emulated
