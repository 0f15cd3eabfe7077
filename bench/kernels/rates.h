// What a timed kernel reached, beside what the machine can do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cpu/ceilings.h"

namespace saccade::bench {

/// Of one call of a kernel.
struct Work {
  double multiply_adds = 0;
  double read_bytes = 0, written_bytes = 0;  ///< of the operands, once each
};

/// " 86.3 GF/s ( 88 %)   12.1 GB/s ( 34 % of L2)": per cent of the ceilings for the precision that the
/// kernel's name ends in and for the level of memory that the operands fit in. The operands may come from a
/// nearer one.
std::string rates(const Work& work, double seconds, std::string_view kernel, const cpu::Ceilings& ceilings);

/// A line about the ceilings, for the head of a report.
std::string describe(const cpu::Ceilings& ceilings);

}  // namespace saccade::bench
