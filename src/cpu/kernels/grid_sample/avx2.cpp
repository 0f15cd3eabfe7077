#include "cpu/simd/avx2.h"

#include "cpu/kernels/grid_sample/grid_sample.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/grid_sample/grid_sample.inl"
}  // namespace

void grid_sample(const compiler::KernelArgs& args) noexcept { run_grid_sample(args); }

}  // namespace saccade::cpu::avx2
