// One operator over elements of any types: casts, comparisons, logic, selection, remainders. What prepare()
// hands to the kernels, and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

enum class TypedCode : int {
  cast,
  less,
  less_equal,
  equal,
  both,
  either,
  one,  ///< exactly one of two
  negate,
  choose,
  is_nan,
  is_infinite,
  remainder,  ///< with the sign of the dividend
  modulo      ///< with that of the divisor
};

/// What an element is; comparisons of booleans are those of unsigned bytes.
enum class TypedElement : int { real, half, boolean, unsigned_byte, signed_byte, whole, long_whole };

constexpr int kTypedDims = 8;
/// Elements of a block at most, where rows are shorter.
constexpr std::int64_t kTypedBlock = 4096;

/// The iteration space is dims, outermost first, at least two of them; the last is a row. Strides, in
/// elements, are those of the destination and of the sources, 0 where one is broadcast. A block is `rows`
/// whole rows, or one of the `pieces` of a row.
struct TypedState {
  TypedCode code;
  TypedElement from, to;    ///< of the sources (of `choose` all but the first), of the destination
  bool positive, negative;  ///< which infinities `is_infinite` finds
  int rank, sources;
  int numbers[3];  ///< of the node's inputs
  std::int64_t dims[kTypedDims];
  std::int64_t strides[4][kTypedDims];
  std::int64_t sizes[4];  ///< bytes of an element of each
  std::int64_t rows, pieces;
  std::int64_t blocks_inside;  ///< blocks of the last two dims
  std::int64_t blocks, blocks_per_task;
};

namespace portable {
void typed(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void typed(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void typed(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void typed(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
