// Convolutions and pools along a line (N, C, L) become those of a picture of one row, which have kernels.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Of known shapes, without automatic padding.
void lines_as_pictures(ir::Graph& graph);

}  // namespace saccade::compiler
