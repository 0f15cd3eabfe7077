// Removes nodes that no output depends on, optional outputs that nobody reads, and values left without a use.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

void dead_code(ir::Graph& graph);

}  // namespace saccade::compiler
