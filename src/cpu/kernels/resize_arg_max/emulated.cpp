#include "cpu/kernels/resize_arg_max/resize_arg_max.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/resize_arg_max/resize_arg_max.inl"
}

void resize_arg_max(const compiler::KernelArgs& args) noexcept { run_resize_arg_max<float>(args); }
void resize_arg_max_bf16(const compiler::KernelArgs& args) noexcept { run_resize_arg_max<Bf16>(args); }

}  // namespace saccade::cpu::avx512_emulated
