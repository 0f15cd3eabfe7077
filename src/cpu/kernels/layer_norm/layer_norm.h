// Lines of elements to mean 0 and variance 1, scaled and shifted. What prepare() hands to the kernels, and
// their entry point.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/lines_view.h"

namespace saccade::cpu {

struct LayerNormParams {
  LinesView view;
  float epsilon;
  bool has_bias;
  bool src_bf16, dst_bf16;  ///< else floats
  /// Lines are cut into `parts` of `part` elements: phase 0 sums them, phase 1 their squared deviations,
  /// phase 2 writes. Fixed by the shape alone. 1: the only phase takes `group` outer combinations a task,
  /// whole.
  std::int64_t parts, part;
  std::int64_t group;
};

namespace portable {
void layer_norm(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void layer_norm(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void layer_norm(const compiler::KernelArgs& args) noexcept;
void layer_norm_rounded(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void layer_norm(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
