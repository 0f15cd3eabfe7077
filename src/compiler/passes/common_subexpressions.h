// Computes equal things once.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Of nodes with the same operator, inputs and attributes, all but the first are dropped; small integer
/// constants with equal values count as the same input. Nondeterministic operators and those with tensors or
/// subgraphs as attributes are left alone.
void common_subexpressions(ir::Graph& graph);

}  // namespace saccade::compiler
