#include "cpu/simd/avx512.h"

#include "cpu/kernels/reduce/reduce.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/reduce/reduce.inl"
}  // namespace

void reduce_lines(const compiler::KernelArgs& args) noexcept { run_reduce(args); }

}  // namespace saccade::cpu::avx512
