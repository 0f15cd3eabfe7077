#include "cpu/simd/avx2.h"

#include "cpu/kernels/normalise/normalise.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/normalise/normalise.inl"
}  // namespace

void normalise_lines(const compiler::KernelArgs& args) noexcept { run_normalise(args); }

}  // namespace saccade::cpu::avx2
