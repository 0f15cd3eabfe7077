// A picture flattened to tokens, or tokens made a picture, by a transpose of three dimensions behind or
// before a reshape: the transpose becomes one of the picture, which moves nothing where channels lie last.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// (N, C, H, W) → (N, C, HW) → (N, HW, C) and back, dimensions of length 1 anywhere.
void regroup_transposes(ir::Graph& graph);

}  // namespace saccade::compiler
