// Makes one 1x1 convolution of two.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Conv 1x1 behind Conv 1x1 with nothing in between -> Conv 1x1 with the product of the filters, where
/// nothing else reads the first, both are f32 with constant filters that are not those of a quantised
/// network, and the product has no more filters than the two had. But for rounding.
void merge_pointwise(ir::Graph& graph);

}  // namespace saccade::compiler
