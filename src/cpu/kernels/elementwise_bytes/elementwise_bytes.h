// Elementwise programs that read bytes or leave them, in one pass from registers to registers: a table of
// what becomes of each byte; a line (real numbers made of one or two operands, added or multiplied, and made
// bytes again); and the sum of two operands of bytes. Plain: kernel units include this.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

enum class ByteProgram : int { table, line, sum };
/// How a row of the second operand lies in memory, and what it does.
enum class ByteSecond : int { none, number, row };
enum class ByteJoin : int { add, multiply };

constexpr int kByteDims = 8;

/// (x - zero) * scale, x a float or a byte. Bytes count without their sign; where they are signed, `flip` is
/// 128 and `zero` 128 more.
struct ByteOperand {
  std::int64_t strides[kByteDims];
  int number;  ///< of the node's input
  int flip;
  bool bytes;
  float zero, scale;
};

/// Rows of `columns` adjacent elements, cut in pieces, in dims that are listed outermost first.
struct ElementwiseBytesState {
  int rank;  ///< of what is outside a row
  std::int64_t dims[kByteDims], dst_strides[kByteDims];
  std::int64_t columns, piece, pieces, units, units_per_task;

  ByteProgram program;
  ByteOperand a, b;
  ByteSecond second;
  ByteJoin join;
  bool result_bytes;
  bool quantises;               ///< else what follows is left out, but for result_scale
  float least, most;            ///< bounds of what is divided
  float divisor;                ///< a positive number
  float low, high;              ///< bounds of the quotient, whole numbers where the result is bytes
  float result_scale;           ///< of a result of floats
  int zero;                     ///< added to a result of bytes
  bool saturates;               ///< the bounds of a sum are what unsigned bytes hold
  float a_step, b_step, start;  ///< of a sum: start + a * a_step + b * b_step is what is rounded
  unsigned char table[256];
};

namespace portable {
void elementwise_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void elementwise_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void elementwise_bytes(const compiler::KernelArgs& args) noexcept;
}
namespace avx512_emulated {
void elementwise_bytes(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
