// Resize → ArgMax over the channels becomes ResizeArgMax: the enlarged logits are never stored.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Where the resize enlarges pictures along height and width, linearly or by the nearest pixel, and nothing
/// else reads it.
void fuse_resize_arg_max(ir::Graph& graph);

}  // namespace saccade::compiler
