// Evaluates nodes whose inputs are constant, and shape arithmetic once shapes are concrete.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Leaves alone: nondeterministic operators, and nodes whose result would be much larger than what it is made
/// from (an Expand of a scalar to a plane is cheaper to compute than to store).
void fold_constants(ir::Graph& graph);

}  // namespace saccade::compiler
