// Adds a second tensor while a convolution writes its result.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Add(conv, other) -> Conv with input `residual`, where shapes are equal, the convolution has no activation
/// or residual yet and nothing else reads its result. Of two convolutions the later one takes the sum.
void fuse_residual(ir::Graph& graph);

}  // namespace saccade::compiler
