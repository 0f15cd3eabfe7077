// Structural invariants of a graph.
#pragma once

#include "ir/graph.h"

namespace saccade::ir {

/// Throws Error(invalid_model) naming the culprit unless: every id is in range; every value has one
/// definition (input, constant or node output); nodes are in topological order; graph outputs are defined;
/// names of inputs are unique. Operators are checked one layer up (ops::verify).
void verify(const Graph& graph);

}  // namespace saccade::ir
