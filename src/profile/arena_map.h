// What lies where in a context's arena, and while which steps run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/compiled_graph.h"

namespace saccade::profile {

struct ArenaBlock {
  std::string name;  ///< of the step that writes it
  std::size_t offset = 0, bytes = 0;
  std::size_t first = 0, last = 0;  ///< steps
  bool scratch = false;
};

/// In the order of the steps that write them.
std::vector<ArenaBlock> arena_map(const std::vector<compiler::Step>& steps);

}  // namespace saccade::profile
