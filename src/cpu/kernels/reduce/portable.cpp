#include "cpu/simd/portable.h"

#include "cpu/kernels/reduce/reduce.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/reduce/reduce.inl"
}  // namespace

void reduce_lines(const compiler::KernelArgs& args) noexcept { run_reduce(args); }

}  // namespace saccade::cpu::portable
