// Products of quantised tensors are summed as whole numbers.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// A convolution or matrix product of two dequantised tensors of 8 bits becomes one of whole numbers,
/// followed by one multiplication with both scales: sums are then exact in single precision (up to 2^24),
/// whatever their order, as they are in integer kernels, and the rounding that follows falls as theirs does.
/// Where the result is quantised again, the multiplication is by the ratio of all three scales. The same for
/// means; a bilinear Resize of dequantised numbers is asked for a fixed order of sums. To run before
/// constants are folded, which would hide the weights' integers.
void integer_sums(ir::Graph& graph);

}  // namespace saccade::compiler
