#include "cpu/kernels/conv/conv.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/conv/conv.inl"
}  // namespace

void conv_dense(const compiler::KernelArgs& args) noexcept { run_conv(args); }

}  // namespace saccade::cpu::avx512_emulated
