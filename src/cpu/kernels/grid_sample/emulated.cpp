#include "cpu/kernels/grid_sample/grid_sample.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/grid_sample/grid_sample.inl"
}  // namespace

void grid_sample(const compiler::KernelArgs& args) noexcept { run_grid_sample(args); }

}  // namespace saccade::cpu::avx512_emulated
