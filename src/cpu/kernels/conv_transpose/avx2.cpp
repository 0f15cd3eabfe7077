#include "cpu/simd/avx2.h"

#include "cpu/kernels/conv_transpose/conv_transpose.h"
#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/conv_transpose/conv_transpose.inl"
}  // namespace

void conv_transpose(const compiler::KernelArgs& args) noexcept { run_conv_transpose(args); }
void conv_transpose_patch(const compiler::KernelArgs& args) noexcept { run_patches(args); }

}  // namespace saccade::cpu::avx2
