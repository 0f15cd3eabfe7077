#include "cpu/simd/avx2.h"

#include "cpu/kernels/resize_arg_max/resize_arg_max.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/resize_arg_max/resize_arg_max.inl"
}

void resize_arg_max(const compiler::KernelArgs& args) noexcept { run_resize_arg_max<float>(args); }
void resize_arg_max_bf16(const compiler::KernelArgs& args) noexcept { run_resize_arg_max<Bf16>(args); }

}  // namespace saccade::cpu::avx2
