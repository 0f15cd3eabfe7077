// Changes the batch that a model was exported with.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace saccade::compiler {

/// `exported` and `wanted` are shapes of all inputs that differ in the leading dimension only. Walks the
/// graph with both and proves node by node that samples never mix: every value either does not depend on the
/// batch or has it as its leading dimension. Hard-coded targets of Reshape, Expand and Resize are rewritten.
/// Throws Error(unsupported) naming the first node for which the proof fails.
void rewrite_batch(ir::Graph& graph, const std::vector<Shape>& exported, const std::vector<Shape>& wanted);

}  // namespace saccade::compiler
