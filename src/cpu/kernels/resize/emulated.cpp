#include "cpu/kernels/resize/resize.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/resize/resize.inl"
//
#include "cpu/kernels/resize/planar.inl"
}  // namespace

void resize_taps(const compiler::KernelArgs& args) noexcept { run_taps(args); }
void resize_planar(const compiler::KernelArgs& args) noexcept { run_planar(args); }
void resize_double(const compiler::KernelArgs& args) noexcept { run_double(args); }
void resize_corners(const compiler::KernelArgs& args) noexcept { run_corners(args); }

}  // namespace saccade::cpu::avx512_emulated
