// softmax(scale Q K' + mask) V, written out as products, becomes Attention, with what brings heads apart and
// together again where that is a reshape and a transpose of tokens.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Where nothing else reads scores or probabilities.
void fuse_attention(ir::Graph& graph);

}  // namespace saccade::compiler
