// The form of the elementwise programs that quantised networks are full of.
#pragma once

#include <limits>
#include <optional>

#include "ops/chain_program.h"

namespace saccade::cpu {

/// An input as a real number: (x - zero) * scale.
struct ByteChainOperand {
  int input = -1;
  float zero = 0, scale = 1;
};

/// One operand, or the sum or product of two, within bounds. Where it is quantised: divided, rounded, kept
/// within bounds; then `zero` is added, or it is multiplied by `scale`. Every step rounds to f32.
struct ByteChain {
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  enum class Join { none, add, multiply };
  ByteChainOperand a, b;
  Join join = Join::none;
  float least = -kInfinity, most = kInfinity;
  bool quantised = false;
  float divisor = 1;
  float low = -kInfinity, high = kInfinity;
  float zero = 0, scale = 1;
};

/// nullopt where the program has another form, or numbers of unusual size.
std::optional<ByteChain> read_byte_chain(const ops::ChainProgram& program);

}  // namespace saccade::cpu
