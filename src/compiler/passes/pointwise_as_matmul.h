// 1x1 convolutions with filters that the network computes (dynamic filters) become matrix products, which
// need nothing packed before they run.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Of known shapes, stride 1, without padding.
void pointwise_as_matmul(ir::Graph& graph);

}  // namespace saccade::compiler
