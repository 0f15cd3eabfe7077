#include "cpu/simd/avx2.h"

#include "cpu/kernels/tile/tile.h"
#include "cpu/kernels/winograd/winograd.h"
#include "cpu/kernels/winograd_mixed/winograd_mixed.h"

namespace saccade::cpu::avx2 {
namespace {
#include "cpu/kernels/winograd_mixed/winograd_mixed.inl"
}  // namespace

void winograd_mixed(const compiler::KernelArgs& args) noexcept { run_winograd_mixed(args); }

}  // namespace saccade::cpu::avx2
