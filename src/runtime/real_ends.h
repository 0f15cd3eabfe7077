// Quantised networks as pictures meet them.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "saccade/model.h"

namespace saccade::runtime {

/// The same network, taking float32 wherever it takes numbers of up to 32 bits or doubles, and returning
/// float32 where its results are real numbers. Integers that stand for real numbers are quantised on the way
/// in and dequantised on the way out; other integers that come in are rounded and saturated; results of
/// integers that pictures' code cannot read (bool, 8 and 16 bits with a sign, …) become int32. Shapes and
/// names stay. A model that needs nothing of this is returned as it is.
Model with_real_ends(const Model& model);
/// The graph of that model; nothing where `graph` needs no change.
std::optional<ir::Graph> with_real_ends(const ir::Graph& graph);

}  // namespace saccade::runtime
