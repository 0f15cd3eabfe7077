// What the manual does not say of this processor, and is measured once: which of two ways of computing the
// same is the faster one.
#pragma once

#include <string>

namespace saccade::cpu {

/// Multiply-adds of bfloat16 vectors (vdpbf16ps) beside those of floats, in the time of one: 2, 1 or 0.5.
/// Where the processor has no such instruction, 2. Measured at the first call, for about a millisecond.
double bf16_speedup() noexcept;

/// What was measured, for the key of cached plans; "" where there was nothing to measure.
std::string measured_rates();

}  // namespace saccade::cpu
