#include "cpu/simd/avx512.h"

#include "cpu/kernels/instance_norm/instance_norm.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/instance_norm/instance_norm.inl"
}  // namespace

void instance_norm(const compiler::KernelArgs& args) noexcept { run_instance_norm(args); }

}  // namespace saccade::cpu::avx512
