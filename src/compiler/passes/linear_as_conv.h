// A matrix product of tokens with constant weights is a 1x1 convolution of a picture with as many pixels: so
// bias, activation, residual sum and scale of a linear layer become part of it, as those of convolutions do.
// In memory tokens and a picture with channels last are the same.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Elementwise work between linear layers moves to the pictures too.
void linear_as_conv(ir::Graph& graph);

}  // namespace saccade::compiler
