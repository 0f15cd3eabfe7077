// The sum of two operands of bytes, quantised again, in fewer steps than it is written in.
#pragma once

#include <optional>

#include "cpu/kernels/elementwise_bytes/byte_chain.h"

namespace saccade::cpu {

/// round(start + a * a_step + b * b_step) within bounds, computed as fma(a, a_step, fma(b, b_step, start)).
struct ByteSum {
  float a_step, b_step, start, low, high;
};

/// The steps that give every pair of unsigned bytes what `chain`, a quantised sum, gives it before its zero
/// point is added; nullopt where none were found. `fused`: fma rounds once, else twice.
std::optional<ByteSum> find_byte_sum(const ByteChain& chain, bool fused);

}  // namespace saccade::cpu
