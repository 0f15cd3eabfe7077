// Fused elementwise programs on f32, with operands of f32, bf16 or bytes: what prepare() hands to the
// kernels, and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"

namespace saccade::cpu {

/// What an instruction computes; `scalar` calls the operator's own function, one element at a time (as `sin`,
/// `cos` and `pow` do where an operand is unusual).
enum class ElementwiseCode : int {
  add,
  sub,
  mul,
  div,
  min,
  max,
  prelu,
  copy,
  leaky_relu,
  sigmoid,
  hard_sigmoid,
  hard_swish,
  silu,
  tanh,
  elu,
  exp,
  log,
  sqrt,
  rsqrt,
  square,
  cube,
  abs,
  neg,
  reciprocal,
  floor,
  ceil,
  round,
  sign,
  softplus,
  mish,
  gelu_tanh,
  gelu_short,  ///< where results are stored as bf16
  gelu,
  erf,
  softsign,
  thresholded_relu,
  celu,
  shrink,
  sin,
  cos,
  atan,
  pow,
  scalar
};

struct ElementwiseInstruction {
  ElementwiseCode code;
  int a, b;         ///< slots; b is -1 where the code takes one operand
  int result;       ///< slot; the last instruction writes the destination
  bool steady;      ///< its slot is its own, so what it computed for the block before may still be there
  float p, q;       ///< parameters
  float low, high;  ///< bounds of the result of add, sub, mul, div, copy
  double (*fn)(const double*, const double*);  ///< of `scalar`
  double parameters[4];
};

constexpr int kElementwiseDims = 8;
constexpr int kElementwiseInputs = 16;
constexpr int kElementwiseSlots = 32;
/// Elements handled at a time: a slot of the scratch.
constexpr int kElementwiseBlock = 512;

/// What is stored of an operand; the arithmetic is that of floats.
enum class ElementwiseType : int { real, brain, unsigned_bytes, signed_bytes };

struct ElementwiseInput {
  std::int64_t strides[kElementwiseDims];  ///< 0 where it is broadcast
  int number;                              ///< of the node's input; its slot is its place in the list
  ElementwiseType type;
};

/// The iteration space is dims, outermost first, at least two of them; the last is a row. A block is `rows`
/// whole rows, or one of the `pieces` of a row where rows are longer than a block. Slots: inputs, literals,
/// results.
struct ElementwiseState {
  int rank;
  std::int64_t dims[kElementwiseDims];
  std::int64_t dst_strides[kElementwiseDims];
  ElementwiseType dst_type;
  int input_count, literal_count, slot_count, instruction_count;
  ElementwiseInput inputs[kElementwiseInputs];
  float literals[kElementwiseSlots];
  const ElementwiseInstruction* instructions;
  std::int64_t rows, pieces;
  std::int64_t blocks_inside;  ///< blocks of the last two dims
  std::int64_t blocks, blocks_per_task;
};

namespace portable {
void elementwise_chain(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void elementwise_chain(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void elementwise_chain(const compiler::KernelArgs& args) noexcept;
void elementwise_chain_rounded(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void elementwise_chain(const compiler::KernelArgs& args) noexcept;
}

}  // namespace saccade::cpu
