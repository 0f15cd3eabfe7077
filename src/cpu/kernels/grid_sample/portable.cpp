#include "cpu/simd/portable.h"

#include "cpu/kernels/grid_sample/grid_sample.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/grid_sample/grid_sample.inl"
}  // namespace

void grid_sample(const compiler::KernelArgs& args) noexcept { run_grid_sample(args); }

}  // namespace saccade::cpu::portable
