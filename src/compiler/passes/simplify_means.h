// Takes means over planes without making the planes first.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// The mean over a plane of a + b is the sum of the means, where nothing else reads a + b; the mean of a
/// plane that was enlarged by a whole factor, bilinear with half-pixel centres or nearest, is that of the
/// plane before; that of a 1x1 convolution is the convolution of the mean, if that has not far more channels
/// to read. A gate of one value a plane multiplies its mean. All but for rounding.
void simplify_means(ir::Graph& graph);

}  // namespace saccade::compiler
