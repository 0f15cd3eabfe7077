// Applies an activation while the operator in front of it writes its result.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Conv, ConvTranspose, MatMul or Gemm followed by Relu, Clip with constant bounds, LeakyRelu, Sigmoid,
/// HardSigmoid, HardSwish, Silu or Tanh, where nothing else reads the result in between and it has no
/// activation yet.
void fuse_activation(ir::Graph& graph);

}  // namespace saccade::compiler
