// Runs of elementwise operators become one pass over memory.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Groups f32 elementwise operators of one output shape that feed each other into ElementwiseChain nodes. A
/// value that is also read from outside its group, or is an output, ends the group. Operands may be
/// broadcast.
void fuse_elementwise(ir::Graph& graph);

}  // namespace saccade::compiler
