// What kernels predict their time with: rates of one core per instruction set. Rough on purpose: they only
// rank candidates for the same step, and must not depend on the machine's load or the number of threads. A
// cost is that of the whole batch, as that of a copy is: what stands against what is then the same for any
// batch.
#pragma once

#include <cstdint>

#include "saccade/isa.h"

namespace saccade::cpu {

/// Multiply-adds a nanosecond of dense fp32 code that keeps the multipliers busy.
double multiply_adds_per_ns(Isa isa) noexcept;
/// Words of two products of 16-bit integers a nanosecond, added to sums.
double pair_words_per_ns(Isa isa) noexcept;
/// Bytes a nanosecond that a core reads or writes beyond its first-level cache.
double bytes_per_ns(Isa isa) noexcept;
/// Vector lanes of an instruction set.
int lanes(Isa isa) noexcept;

/// Predicted nanoseconds of a row of `pixels` outputs of `filters` filters in register tiles (kernels/tile),
/// each a sum of `products` products in `runs` runs.
double tile_row_ns(Isa isa, std::int64_t pixels, std::int64_t filters, std::int64_t products,
                   std::int64_t runs) noexcept;

/// Into how many near-equal tasks `units` indivisible pieces of work are cut when `wanted` would be about
/// right: threads take equal shares of the tasks, so few tasks come in powers of two and many in multiples of
/// eight.
std::int64_t even_tasks(std::int64_t wanted, std::int64_t units) noexcept;
/// How many tasks make use of several cores without their number costing anything: one for each 20,000 vector
/// operations.
std::int64_t tasks_of_work(std::int64_t vector_operations) noexcept;

}  // namespace saccade::cpu
