// Runs 1x1 convolutions at the small side of an enlargement.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Conv 1x1 behind a Resize that enlarges -> Resize behind the convolution. Interpolation weights sum to one
/// and mix pixels of one channel, a 1x1 convolution mixes channels of one pixel: the order does not matter,
/// but for rounding. Only where nothing else reads the enlarged plane, the convolution has no epilogue yet,
/// it does not make more channels than it reads, and (for few channels) no activation or sum would be left
/// without a home.
/// Likewise Conv 1x1 behind x + Resize(y) of few channels -> Conv(x) + Resize(Conv(y)), so that the sum is
/// the first convolution's residual.
/// And Conv 1x1 behind a concatenation of x and wide Resize(y) -> Conv(x) + Resize(Conv(y)): what decoders
/// that bring maps of several sizes together would multiply at the largest.
void pointwise_before_resize(ir::Graph& graph);

}  // namespace saccade::compiler
