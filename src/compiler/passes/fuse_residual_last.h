// Adds a second tensor while a depthwise convolution writes what its activation made.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Add(activation(depthwise conv), other) -> Conv with input `residual` and `residual_last`, where shapes are
/// equal, the activation is one that kernels have in registers, and nothing else reads the convolution.
void fuse_residual_last(ir::Graph& graph);

}  // namespace saccade::compiler
