#include "cpu/simd/avx512.h"

#include "cpu/kernels/resize/resize.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/resize/resize.inl"
//
#include "cpu/kernels/resize/planar.inl"
}  // namespace

void resize_taps(const compiler::KernelArgs& args) noexcept { run_taps<float>(args); }
void resize_taps_bf16(const compiler::KernelArgs& args) noexcept { run_taps<Bf16>(args); }
void resize_planar(const compiler::KernelArgs& args) noexcept { run_planar(args); }
void resize_planar_corners(const compiler::KernelArgs& args) noexcept { run_planar_corners(args); }
void resize_double(const compiler::KernelArgs& args) noexcept { run_double<float>(args); }
void resize_double_bf16(const compiler::KernelArgs& args) noexcept { run_double<Bf16>(args); }
void resize_corners(const compiler::KernelArgs& args) noexcept { run_corners<float>(args); }
void resize_corners_bf16(const compiler::KernelArgs& args) noexcept { run_corners<Bf16>(args); }

}  // namespace saccade::cpu::avx512
