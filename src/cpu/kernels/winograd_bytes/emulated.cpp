#include "cpu/kernels/winograd_bytes/winograd_bytes.h"
#include "cpu/simd/avx512_emulated.h"

namespace saccade::cpu::avx512_emulated {
namespace {
#include "cpu/kernels/winograd_bytes/winograd_bytes.inl"
}  // namespace

void winograd_bytes(const compiler::KernelArgs& args) noexcept { run_winograd_bytes(args); }

}  // namespace saccade::cpu::avx512_emulated
