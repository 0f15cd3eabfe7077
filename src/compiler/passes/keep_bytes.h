// Quantised tensors that are only moved about stay bytes.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// DequantizeLinear moves behind operators that move elements or choose among them (Transpose, MaxPool,
/// Slice, a Concat of equals); QuantizeLinear moves in front of a Concat; where the two meet and agree, both
/// go.
void keep_bytes(ir::Graph& graph);

}  // namespace saccade::compiler
