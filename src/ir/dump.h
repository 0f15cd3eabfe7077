// Text form of a graph: one line a node, stable, for people, logs and tests.
#pragma once

#include <string>

#include "ir/graph.h"

namespace saccade::ir {

/// "%out:f32[1x8x4x4] = Conv(%x, %w, _) {pads=[1,1,1,1]} 'name'" a line; constants and inputs first.
std::string dump(const Graph& graph);

}  // namespace saccade::ir
