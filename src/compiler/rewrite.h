// Sweeps of local rewrites until nothing fires any more.
#pragma once

#include <span>

#include "compiler/edit.h"

namespace saccade::compiler {

/// Tries to rewrite around one untouched node of the snapshot; returns whether it did. Node and values that
/// it builds on are then touched, removed or redirected.
using Rule = bool (*)(Edit& edit, std::size_t node);

/// Applies the rules to every node, sweep after sweep. Stops after `max_sweeps`, which no sensible set of
/// rules reaches.
void apply_rules(ir::Graph& graph, std::span<const Rule> rules, int max_sweeps = 1000);

}  // namespace saccade::compiler
