// Sums, means, norms, products and extremes over any axes. What prepare() hands to the kernels, and their
// entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/lines_view.h"

namespace saccade::cpu {

enum class Reduction : int {
  sum,
  mean,
  max,
  min,
  magnitudes,
  squares,
  length,
  product,
  log_sum,
  log_sum_exp
};

/// A part of the source that is reduced as soon as it is written: elements [first, end) of some neighbouring
/// lines.
struct ReducePiece {
  std::int64_t first, end;
  std::int64_t line, lines;
  std::int64_t part;  ///< its number among those of the same lines
};

struct ReduceParams {
  LinesView view;
  Reduction kind;
  bool signed_bytes;  ///< of sources of bytes
  /// Lines are cut into `parts` of `part` elements, which phase 0 reduces into the shared scratch and phase 1
  /// joins in order: fixed by the shape alone. 1: phase 0 writes the result.
  std::int64_t parts, part;
  std::int64_t group;   ///< outer combinations a task of the only phase takes, where parts is 1
  std::int64_t joined;  ///< those that a task of phase 1 takes
  /// Of log_sum_exp, whose tasks take `group` pieces of `columns` neighbouring lines, of which an outer
  /// combination has `pieces`.
  std::int64_t columns, pieces;
  /// Where phase 0 follows the step that writes the source: a task takes one of the `follows` pieces of an
  /// outer combination; 0: it does not.
  const ReducePiece* piece;
  std::int64_t follows;
};

namespace portable {
void reduce_lines(const compiler::KernelArgs& args) noexcept;
void reduce_lines_bf16(const compiler::KernelArgs& args) noexcept;
void mean_bytes(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void reduce_lines(const compiler::KernelArgs& args) noexcept;
void reduce_lines_bf16(const compiler::KernelArgs& args) noexcept;
void mean_bytes(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void reduce_lines(const compiler::KernelArgs& args) noexcept;
void reduce_lines_bf16(const compiler::KernelArgs& args) noexcept;
void mean_bytes(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void reduce_lines(const compiler::KernelArgs& args) noexcept;
void reduce_lines_bf16(const compiler::KernelArgs& args) noexcept;
void mean_bytes(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
