#include "cpu/kernels/layer_norm/layer_norm.h"
#include "cpu/simd/avx512.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/layer_norm/layer_norm.inl"
}  // namespace

void layer_norm_rounded(const compiler::KernelArgs& args) noexcept { run_layer_norm(args); }

}  // namespace saccade::cpu::avx512
