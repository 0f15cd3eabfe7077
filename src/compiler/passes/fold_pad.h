// Moves explicit padding into the window that reads it.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Pad(constant) -> Conv, AveragePool, MaxPool becomes the operator's own pads where that is exact: zero
/// before Conv and AveragePool (which then counts its pads), minus infinity before MaxPool, zero before
/// MaxPool where no value is negative. Only where the padded value has no other use.
void fold_pad(ir::Graph& graph);

}  // namespace saccade::compiler
