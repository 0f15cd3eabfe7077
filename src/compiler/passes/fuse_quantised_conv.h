// Convolutions between quantised tensors become QLinearConv.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// QuantizeLinear of a Conv of a DequantizeLinear, with weights of 8 bits and a bias of whole numbers,
/// becomes one QLinearConv where convolves_bytes says that kernels have it. A Relu or Clip in between becomes
/// its bounds: to quantise never changes an order, so bounding after it is the same as before it. A
/// ConvTranspose whose windows lie side by side becomes a 1x1 convolution to all pixels of a window, and a
/// DepthToSpace.
void fuse_quantised_conv(ir::Graph& graph);

}  // namespace saccade::compiler
