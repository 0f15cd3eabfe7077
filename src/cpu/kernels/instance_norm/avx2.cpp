#include "cpu/simd/avx2.h"

#include "cpu/kernels/instance_norm/instance_norm.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/instance_norm/instance_norm.inl"
}  // namespace

void instance_norm(const compiler::KernelArgs& args) noexcept { run_instance_norm(args); }

}  // namespace saccade::cpu::avx2
