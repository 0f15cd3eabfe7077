// Layer normalisation that is written out, as exporters below operator set 17 and networks that normalise
// over channels do it: (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), scaled and shifted.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Over the last axis, and over the channels of pictures, which are turned last for it (in memory they are).
void recognise_norms(ir::Graph& graph);

}  // namespace saccade::compiler
