#include "cpu/kernels/normalise/normalise.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/normalise/normalise.inl"
}  // namespace

void normalise_lines(const compiler::KernelArgs& args) noexcept { run_normalise(args); }

}  // namespace saccade::cpu::avx512_emulated
