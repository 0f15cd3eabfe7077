#include "cpu/simd/portable.h"

#include "cpu/kernels/copy/copy.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/copy/copy.inl"
}  // namespace

void copy(const compiler::KernelArgs& args) noexcept { run_copy(args); }

}  // namespace saccade::cpu::portable
