// Mul by one value a channel → 1x1 convolution becomes a convolution with a gate, which multiplies its
// filters: the scaled picture (of a squeeze-excite gate) is never stored.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Where nothing else reads the product and there are more pixels than filters.
void fold_gates(ir::Graph& graph);

}  // namespace saccade::compiler
