#include "cpu/simd/portable.h"

#include "cpu/kernels/conv_stem/conv_stem.h"
#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/conv_stem/conv_stem.inl"
}  // namespace

void conv_stem(const compiler::KernelArgs& args) noexcept { run_conv_stem(args); }

}  // namespace saccade::cpu::portable
