// Finds activations that exporters spelled out in simpler operators.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// max(x, 0) -> Relu; min(max(x, a), b) -> Clip; clip(x + 3, 0, 6) / 6 and the like -> HardSigmoid; x *
/// hard_sigmoid(x) with 1/6 and 1/2 and x * clip(x + 3, 0, 6) / 6 -> HardSwish; x * sigmoid(x) -> Silu.
/// Intermediate values must have no other use.
void recognise_activations(ir::Graph& graph);

}  // namespace saccade::compiler
