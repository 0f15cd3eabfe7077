#include "layer_floor.h"

#include <fmt/format.h>

namespace saccade::cli {

StepFloors step_floors(const std::vector<compiler::Step>& steps, const cpu::Ceilings& ceilings) {
  StepFloors floors;
  for (const compiler::Step& step : steps) {
    const auto of = [&](std::int64_t multiply_adds) {
      return cpu::floor_of(ceilings, ceilings.multiply_adds(step.kernel->name), multiply_adds,
                           step.bytes - step.written_bytes, step.written_bytes);
    };
    floors.kernel.push_back(of(step.kernel_multiply_adds()));
    floors.direct.push_back(of(step.needed_multiply_adds));
  }
  return floors;
}

double total_ns(const std::vector<cpu::Floor>& floors) {
  double ns = 0;
  for (const cpu::Floor& floor : floors) ns += floor.ns();
  return ns;
}

std::string describe(const cpu::Ceilings& ceilings) {
  std::string text = fmt::format("{:.1f} GF/s fp32, {:.1f} bf16, {:.1f} int8;", 2 * ceilings.fp32,
                                 2 * ceilings.bf16, 2 * ceilings.int8);
  for (const cpu::MemoryLevel& level : ceilings.levels)
    text += fmt::format(" {} {:.1f} / {:.1f}{}", level.name, level.read, level.write,
                        &level == &ceilings.levels.back() ? " GB/s read / written" : ",");
  return text;
}

nlohmann::ordered_json ceilings_json(const cpu::Ceilings& ceilings) {
  nlohmann::ordered_json levels = nlohmann::ordered_json::array();
  for (const cpu::MemoryLevel& level : ceilings.levels) {
    nlohmann::ordered_json entry = {{"name", level.name}};
    if (&level != &ceilings.levels.back()) entry["bytes"] = level.bytes;
    entry["read_gbytes_per_s"] = level.read;
    entry["written_gbytes_per_s"] = level.write;
    levels.push_back(std::move(entry));
  }
  return {{"fp32_gflops", 2 * ceilings.fp32},
          {"bf16_gflops", 2 * ceilings.bf16},
          {"int8_gops", 2 * ceilings.int8},
          {"levels", std::move(levels)}};
}

}  // namespace saccade::cli
