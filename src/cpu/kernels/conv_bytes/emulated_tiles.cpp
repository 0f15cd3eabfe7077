#include "cpu/kernels/conv_bytes/conv_bytes.h"
#include "cpu/simd/amx_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/conv_bytes/conv_tiles.inl"
}  // namespace

void conv_bytes_tiles(const compiler::KernelArgs& args) noexcept { run_conv_bytes_tiles(args); }

}  // namespace saccade::cpu::avx512_emulated
