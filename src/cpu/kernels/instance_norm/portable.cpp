#include "cpu/simd/portable.h"

#include "cpu/kernels/instance_norm/instance_norm.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/instance_norm/instance_norm.inl"
}  // namespace

void instance_norm(const compiler::KernelArgs& args) noexcept { run_instance_norm(args); }

}  // namespace saccade::cpu::portable
