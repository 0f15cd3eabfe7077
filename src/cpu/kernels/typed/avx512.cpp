#include "cpu/kernels/typed/typed.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/typed/typed.inl"
}  // namespace

void typed(const compiler::KernelArgs& args) noexcept { run_typed(args); }

}  // namespace saccade::cpu::avx512
