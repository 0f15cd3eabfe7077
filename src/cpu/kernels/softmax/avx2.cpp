#include "cpu/simd/avx2.h"

#include "cpu/kernels/softmax/softmax.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/softmax/softmax.inl"
}  // namespace

void softmax_lines(const compiler::KernelArgs& args) noexcept { run_softmax(args); }
void arg_max_lines(const compiler::KernelArgs& args) noexcept { run_arg_max(args); }

}  // namespace saccade::cpu::avx2
