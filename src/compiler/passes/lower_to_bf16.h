// Stores what lies between the layers of convolutional parts as bf16, where that is asked for.
#pragma once

#include "compiler/compile.h"
#include "ir/graph.h"

namespace saccade::compiler {

/// With options.precision bf16: pictures that convolutions, blocks, poolings, resizes and elementwise work
/// hand to each other become bf16; arithmetic, weights, gates, means and everything of one pixel stay f32,
/// and so does what lies between the graph's inputs or outputs and the nearest convolution. Nodes of
/// options.fp32_layers compute and return f32. Casts stand where the two meet. After all fusions, so that
/// operators are in the form in which they run. With options.coarse, 3x3 convolutions that read or return
/// bf16 and are not of options.exact_layers are marked as `coarse`. Else does nothing.
void lower_to_bf16(ir::Graph& graph, const Options& options);

}  // namespace saccade::compiler
