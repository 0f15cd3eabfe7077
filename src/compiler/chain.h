// Turns elementwise nodes into one ElementwiseChain.
#pragma once

#include <span>

#include "ir/graph.h"

namespace saccade::compiler {

/// Whether a chain can hold the node: an elementwise f32 operator with one output of known shape, its
/// parameters constant; or a Cast between f32 and bytes or bf16. A Cast to them can only be the last.
bool chainable(const ir::Graph& graph, const ir::Node& node);

/// The chain that computes output 0 of the last of `nodes`, which are chainable, in order and feed each
/// other. Its inputs are what they read from elsewhere; constants of one element become literals. The node
/// has no outputs yet.
ir::Node make_chain(const ir::Graph& graph, std::span<const ir::Node* const> nodes);

}  // namespace saccade::compiler
