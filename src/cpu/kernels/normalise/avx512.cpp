#include "cpu/simd/avx512.h"

#include "cpu/kernels/normalise/normalise.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/normalise/normalise.inl"
}  // namespace

void normalise_lines(const compiler::KernelArgs& args) noexcept { run_normalise(args); }

}  // namespace saccade::cpu::avx512
