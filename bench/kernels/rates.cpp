#include "rates.h"

#include <fmt/format.h>

namespace saccade::bench {

std::string rates(const Work& work, double seconds, std::string_view kernel, const cpu::Ceilings& ceilings) {
  const double ns = 1e9 * seconds;
  const cpu::Floor floor = cpu::floor_of(
      ceilings, ceilings.multiply_adds(kernel), static_cast<std::int64_t>(work.multiply_adds),
      static_cast<std::int64_t>(work.read_bytes), static_cast<std::int64_t>(work.written_bytes));
  std::string text;
  if (work.multiply_adds > 0)
    text =
        fmt::format("{:7.1f} GF/s ({:3.0f} %) ", 2 * work.multiply_adds / ns, 100 * floor.arithmetic_ns / ns);
  return text + fmt::format("{:7.1f} GB/s ({:3.0f} % of {})", (work.read_bytes + work.written_bytes) / ns,
                            100 * floor.memory_ns / ns, floor.level);
}

std::string describe(const cpu::Ceilings& ceilings) {
  std::string text =
      fmt::format("{}, one core: {:.1f} GF/s fp32, {:.1f} bf16, {:.1f} int8; GB/s read / written:",
                  isa_name(ceilings.isa), 2 * ceilings.fp32, 2 * ceilings.bf16, 2 * ceilings.int8);
  for (const cpu::MemoryLevel& level : ceilings.levels)
    text += fmt::format(" {} {:.1f} / {:.1f}", level.name, level.read, level.write);
  return text;
}

}  // namespace saccade::bench
