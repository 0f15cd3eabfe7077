#include "cpu/simd/portable.h"

#include "cpu/kernels/pointwise/pointwise.h"
#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/pointwise/pointwise.inl"
}  // namespace

void conv_pointwise(const compiler::KernelArgs& args) noexcept { run_pointwise(args); }
void conv_single(const compiler::KernelArgs& args) noexcept { run_single(args); }

}  // namespace saccade::cpu::portable
