// The rates of instructions that sum products of narrow numbers; they have no place in the vocabulary of
// simd/.
#pragma once

#include "saccade/isa.h"

namespace saccade::cpu {

/// A loop over one such instruction that does `rounds` rounds and returns how many multiply-adds it did.
using DotProbe = double (*)(long rounds);

/// The loops that this CPU can run under `isa`; nullptr where it has none.
struct DotProbes {
  DotProbe bf16 = nullptr;
  DotProbe int8 = nullptr;
};
DotProbes dot_probes(Isa isa) noexcept;

}  // namespace saccade::cpu
