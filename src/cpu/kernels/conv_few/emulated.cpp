#include "cpu/kernels/conv_few/conv_few.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/conv_few/conv_few.inl"
}  // namespace

void conv_few(const compiler::KernelArgs& args) noexcept { run_conv_few(args); }

}  // namespace saccade::cpu::avx512_emulated
