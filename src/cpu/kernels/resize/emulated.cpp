#include "cpu/kernels/resize/resize.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/resize/resize.inl"
}  // namespace

void resize_taps(const compiler::KernelArgs& args) noexcept { run_taps(args); }
void resize_double(const compiler::KernelArgs& args) noexcept { run_double(args); }

}  // namespace saccade::cpu::avx512_emulated
