#include "cpu/kernels/instance_norm/instance_norm.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/instance_norm/instance_norm.inl"
}  // namespace

void instance_norm(const compiler::KernelArgs& args) noexcept { run_instance_norm(args); }

}  // namespace saccade::cpu::avx512_emulated
