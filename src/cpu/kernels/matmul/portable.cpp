#include "cpu/simd/portable.h"

#include "cpu/kernels/matmul/matmul.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/matmul/matmul.inl"
}  // namespace

void matmul(const compiler::KernelArgs& args) noexcept { run_matmul(args); }

}  // namespace saccade::cpu::portable
