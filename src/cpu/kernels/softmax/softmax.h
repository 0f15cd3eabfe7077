// Softmax, its logarithm, and arg max along one axis. What prepare() hands to the kernels, and their entry
// points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/lines_view.h"

namespace saccade::cpu {

struct SoftmaxParams {
  LinesView view;      ///< of arg max: dst in elements of int64
  bool logarithm;      ///< LogSoftmax
  bool smallest;       ///< ArgMin
  bool last_index;     ///< of equal elements the last one
  std::int64_t group;  ///< outer combinations a task takes
  /// Lines shorter than a vector that follow each other without a gap in src and dst: where each of kLanes
  /// lines starts, and where element i of them stands after element k of all lines has been gathered into
  /// vector k.
  bool packed_lines;
  const std::int32_t* line_starts;
  const std::int32_t* unpacked_places;
};

namespace portable {
void softmax_lines(const compiler::KernelArgs& args) noexcept;
void arg_max_lines(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void softmax_lines(const compiler::KernelArgs& args) noexcept;
void arg_max_lines(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void softmax_lines(const compiler::KernelArgs& args) noexcept;
void arg_max_lines(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void softmax_lines(const compiler::KernelArgs& args) noexcept;
void arg_max_lines(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
