// Sums over a stack of maps without the stack.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// The sum or mean over an axis along which maps of size 1 were concatenated, as torch.stack(maps).sum(0) is
/// exported, becomes additions of the maps (the feature pyramids of segmentation_models.pytorch). All but for
/// rounding.
void sum_of_stack(ir::Graph& graph);

}  // namespace saccade::compiler
