// The least time that the machine could take for a plan's steps: `saccade bench --floor`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/compiled_graph.h"
#include "cpu/ceilings.h"

namespace saccade::cli {

/// A floor a step: its arithmetic, at the rate of the precision that its kernel works in, or its operands'
/// bytes, at the rate of the level of memory that they fit in; whichever takes longer.
struct StepFloors {
  std::vector<cpu::Floor> kernel;  ///< with the multiply-adds of its kernel's own algorithm
  std::vector<cpu::Floor> direct;  ///< with those of the direct algorithm, without products with padding
};
StepFloors step_floors(const std::vector<compiler::Step>& steps, const cpu::Ceilings& ceilings);

double total_ns(const std::vector<cpu::Floor>& floors);

/// "113.0 GF/s fp32, …; L1 200 / 100 GB/s read / written, …"
std::string describe(const cpu::Ceilings& ceilings);
nlohmann::ordered_json ceilings_json(const cpu::Ceilings& ceilings);

}  // namespace saccade::cli
