#include "cpu/simd/amx.h"

#include "cpu/kernels/conv_bytes/conv_bytes.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/conv_bytes/conv_tiles.inl"
}  // namespace

void conv_bytes_tiles(const compiler::KernelArgs& args) noexcept { run_conv_bytes_tiles(args); }

}  // namespace saccade::cpu::avx512
