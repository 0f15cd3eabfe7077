#include "cpu/simd/avx2.h"

#include "cpu/kernels/conv_few/conv_few.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/conv_few/conv_few.inl"
}  // namespace

void conv_few(const compiler::KernelArgs& args) noexcept { run_conv_few(args); }

}  // namespace saccade::cpu::avx2
