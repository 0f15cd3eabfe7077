#include "cpu/simd/avx512.h"

#include "cpu/kernels/resize_arg_max/resize_arg_max.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/resize_arg_max/resize_arg_max.inl"
}

void resize_arg_max(const compiler::KernelArgs& args) noexcept { run_resize_arg_max<float>(args); }
void resize_arg_max_bf16(const compiler::KernelArgs& args) noexcept { run_resize_arg_max<Bf16>(args); }

}  // namespace saccade::cpu::avx512
