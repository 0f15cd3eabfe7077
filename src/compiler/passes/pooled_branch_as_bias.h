// A branch that is one pixel everywhere costs a convolution one pixel.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Conv 1x1 of a Concat of channels, some of which are a Resize of a single pixel (as the pooling branch of
/// an atrous spatial pyramid) -> Conv of the others, with the convolution of that pixel as its residual,
/// which is then one pixel added to all. Only where nothing else reads the Concat and the convolution has no
/// epilogue yet.
void pooled_branch_as_bias(ir::Graph& graph);

}  // namespace saccade::compiler
