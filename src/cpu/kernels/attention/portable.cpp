#include "cpu/simd/portable.h"

#include "cpu/kernels/attention/attention.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/attention/attention.inl"
}  // namespace

void attention(const compiler::KernelArgs& args) noexcept { run_attention(args); }

}  // namespace saccade::cpu::portable
