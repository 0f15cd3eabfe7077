// What this machine does at most, measured: the arithmetic of its units and the bytes of each level of its
// memory. The floors of `saccade bench --floor` and the percentages of the micro-benchmarks. Kernels are not
// chosen by it: see cost.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "saccade/isa.h"

namespace saccade::cpu {

/// A cache, or the memory behind them.
struct MemoryLevel {
  std::string_view name;       ///< "L1", "L2", "L3", "memory"
  std::int64_t bytes = 0;      ///< that the threads together keep in it; memory: no bound, the largest number
  double read = 0, write = 0;  ///< bytes a nanosecond, all threads together
};

/// Rates of `threads` threads together.
struct Ceilings {
  Isa isa = Isa::portable;
  int threads = 1;
  /// Multiply-adds a nanosecond. bf16 and int8 are what the machine has instructions for, and fp32's where it
  /// has none that are faster.
  double fp32 = 0, bf16 = 0, int8 = 0;
  std::vector<MemoryLevel> levels;  ///< fastest first; ends with memory

  /// For a kernel's name, which ends in its precision: "conv.dense.avx2.fp32".
  double multiply_adds(std::string_view kernel) const noexcept;
  /// The first level that holds so many bytes.
  const MemoryLevel& level_of(std::int64_t bytes) const noexcept;
};

/// Takes about half a second. `isa` must be one that this machine has. Throws Error(limit) where memory or a
/// thread is refused.
Ceilings measure_ceilings(Isa isa, int threads);

/// The shortest time of a piece of work, and why it cannot be less.
struct Floor {
  double arithmetic_ns = 0, memory_ns = 0;
  std::string_view level;  ///< of memory that the work's bytes lie in

  double ns() const noexcept { return arithmetic_ns > memory_ns ? arithmetic_ns : memory_ns; }
  /// "arithmetic", or the level.
  std::string_view bound() const noexcept { return arithmetic_ns >= memory_ns ? "arithmetic" : level; }
};

/// `rate`: multiply-adds a nanosecond. Reads and writes of a cache overlap; those of memory share its wires.
Floor floor_of(const Ceilings& ceilings, double rate, std::int64_t multiply_adds, std::int64_t read_bytes,
               std::int64_t written_bytes) noexcept;

}  // namespace saccade::cpu
