#include "cpu/kernels/layer_norm/layer_norm.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/layer_norm/layer_norm.inl"
}  // namespace

void layer_norm(const compiler::KernelArgs& args) noexcept { run_layer_norm(args); }

}  // namespace saccade::cpu::avx512_emulated
