// If with a condition that is known → the nodes of the branch that it takes.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Exporters write conditions on shapes; once shapes are known, so is the branch. Branches inside branches
/// too.
void inline_branches(ir::Graph& graph);

}  // namespace saccade::compiler
