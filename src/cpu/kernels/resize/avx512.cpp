#include "cpu/simd/avx512.h"

#include "cpu/kernels/resize/resize.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/resize/resize.inl"
//
#include "cpu/kernels/resize/planar.inl"
}  // namespace

void resize_taps(const compiler::KernelArgs& args) noexcept { run_taps(args); }
void resize_planar(const compiler::KernelArgs& args) noexcept { run_planar(args); }
void resize_double(const compiler::KernelArgs& args) noexcept { run_double(args); }
void resize_corners(const compiler::KernelArgs& args) noexcept { run_corners(args); }

}  // namespace saccade::cpu::avx512
