#include "cpu/simd/avx2.h"

#include "cpu/kernels/winograd_bytes/winograd_bytes.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/winograd_bytes/winograd_bytes.inl"
}  // namespace

void winograd_bytes(const compiler::KernelArgs& args) noexcept { run_winograd_bytes(args); }

}  // namespace saccade::cpu::avx2
