// 1x1 convolution → depthwise convolution → 1x1 convolution becomes InvertedResidual, which can be computed
// row by row: what lies between is never stored whole. Either 1x1 convolution may be missing.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Where nothing else reads what lies between. Takes the forms that canonicalisation and the fusions of
/// residuals and activations leave. Whether a block is worth it is the target's to say: legalise() takes
/// apart those that no kernel does cheaper.
void fuse_inverted_residual(ir::Graph& graph);

}  // namespace saccade::compiler
