#include "cpu/simd/portable.h"

#include "cpu/kernels/inverted_residual/inverted_residual.h"
#include "cpu/kernels/tile/tile.h"

namespace saccade::cpu::portable {
namespace {
#include "cpu/kernels/inverted_residual/float_layer.inl"
#include "cpu/kernels/inverted_residual/inverted_residual.inl"
}  // namespace

void inverted_residual(const compiler::KernelArgs& args) noexcept {
  run_inverted_residual<PointwiseState>(args);
}

}  // namespace saccade::cpu::portable
