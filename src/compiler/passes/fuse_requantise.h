// Quantising and dequantising at once becomes arithmetic on whole numbers in single precision.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// DequantizeLinear of QuantizeLinear, with one scale and one zero point, becomes the elementwise operators
/// that give the same bits: divide, round, clip, multiply. They are then fused with their neighbours, and no
/// integers are stored in between.
void fuse_requantise(ir::Graph& graph);

}  // namespace saccade::compiler
