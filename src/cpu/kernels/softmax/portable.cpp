#include "cpu/simd/portable.h"

#include "cpu/kernels/softmax/softmax.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/softmax/softmax.inl"
}  // namespace

void softmax_lines(const compiler::KernelArgs& args) noexcept { run_softmax(args); }
void arg_max_lines(const compiler::KernelArgs& args) noexcept { run_arg_max(args); }

}  // namespace saccade::cpu::portable
