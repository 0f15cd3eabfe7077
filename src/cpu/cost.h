// What kernels predict their time with: rates of one core per instruction set. Rough on purpose: they only
// rank candidates for the same step, and must not depend on the machine's load, the batch or the number of
// threads.
#pragma once

#include <cstdint>

#include "saccade/isa.h"

namespace saccade::cpu {

/// Multiply-adds a nanosecond of dense fp32 code that keeps the multipliers busy.
double multiply_adds_per_ns(Isa isa) noexcept;
/// Bytes a nanosecond that a core reads or writes beyond its first-level cache.
double bytes_per_ns(Isa isa) noexcept;
/// Vector lanes of an instruction set.
int lanes(Isa isa) noexcept;

/// Predicted nanoseconds of a row of `pixels` outputs of `filters` filters in register tiles (kernels/tile),
/// each a sum of `products` products in `runs` runs.
double tile_row_ns(Isa isa, std::int64_t pixels, std::int64_t filters, std::int64_t products,
                   std::int64_t runs) noexcept;

}  // namespace saccade::cpu
