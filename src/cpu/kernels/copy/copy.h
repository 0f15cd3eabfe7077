// Moving elements without changing them: what prepare() hands to the kernels, and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

constexpr int kCopyDims = 8;

/// How the innermost dimension of a piece is copied.
enum class CopyKind : int {
  rows,       ///< adjacent in both: runs of bytes
  repeat,     ///< one element of the source again and again
  transpose,  ///< adjacent in the destination; the dimension outside of it is adjacent in the source
  strided,    ///< anything else
};

/// A box of elements. Sizes in elements, strides and offsets in bytes, outermost dimension first, at least
/// two of them.
struct CopyPiece {
  CopyKind kind;
  int input;  ///< -1: the destination is filled with `fill`
  int output;
  int rank;
  std::int64_t src_offset, dst_offset;
  std::int64_t size[kCopyDims], src_stride[kCopyDims], dst_stride[kCopyDims];
  std::int64_t src_end;  ///< transpose: offset just behind the last byte that may be read
  /// A task is `rows` x `columns` of the last two dimensions, or less at their ends.
  std::int64_t rows, columns, row_blocks, column_blocks;
  std::int64_t first_task;  ///< tasks of the pieces follow each other
};

struct CopyState {
  int piece_count;
  const CopyPiece* pieces;
  int element;  ///< bytes: 1, 2, 4 or 8
  std::uint64_t fill;
};

namespace portable {
void copy(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void copy(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
