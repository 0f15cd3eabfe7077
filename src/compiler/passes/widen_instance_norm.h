// Joins a normalisation of some channels with what becomes of the others.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// A GroupNorm of a picture as it is exported, InstanceNorm between reshapes that make its groups channels,
/// with scale and bias of channels behind, is one InstanceNormalization with `groups`.
///
/// Concat(BatchNorm(first channels of x), InstanceNorm(the other channels)), or the same without the
/// BatchNorm, is one InstanceNormalization with `first_channel` of one BatchNorm of x (MODNet, IBN-Net): no
/// slices, no Concat, and the BatchNorm may go on into the convolution that makes x.
void widen_instance_norm(ir::Graph& graph);

}  // namespace saccade::compiler
