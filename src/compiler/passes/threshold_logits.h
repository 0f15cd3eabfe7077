// Sigmoid → comparison with a constant becomes a comparison of the logits: where only a binary mask is asked
// for, no probability is made.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Greater, GreaterOrEqual, Less and LessOrEqual of a Sigmoid that nothing else reads and one constant
/// between 0 and 1. The new constant is the logit at which the rounded sigmoid passes the old one, so that
/// the same values are on the same side.
void threshold_logits(ir::Graph& graph);

}  // namespace saccade::compiler
