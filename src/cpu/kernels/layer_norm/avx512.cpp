#include "cpu/simd/avx512.h"

#include "cpu/kernels/layer_norm/layer_norm.h"

namespace saccade::cpu::avx512 {
namespace {
#include "cpu/kernels/layer_norm/layer_norm.inl"
}  // namespace

void layer_norm(const compiler::KernelArgs& args) noexcept { run_layer_norm(args); }

}  // namespace saccade::cpu::avx512
