#include "cpu/simd/avx2.h"

#include "cpu/kernels/layer_norm/layer_norm.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/layer_norm/layer_norm.inl"
}  // namespace

void layer_norm(const compiler::KernelArgs& args) noexcept { run_layer_norm(args); }

}  // namespace saccade::cpu::avx2
