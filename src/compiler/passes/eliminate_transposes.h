// Moves transposes towards the outputs until they meet their inverse.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// A graph from a channels-last format has a transpose on either side of each convolution; afterwards it has
/// none but those at its inputs and outputs. Operators in between are rewritten for the order of dimensions
/// that the transpose came from. A transpose that only moves dimensions of length 1 becomes a Reshape.
void eliminate_transposes(ir::Graph& graph);

}  // namespace saccade::compiler
