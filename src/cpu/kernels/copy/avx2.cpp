#include "cpu/simd/avx2.h"

#include "cpu/kernels/copy/copy.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/copy/copy.inl"
}  // namespace

void copy(const compiler::KernelArgs& args) noexcept { run_copy(args); }

}  // namespace saccade::cpu::avx2
