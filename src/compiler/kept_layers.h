// Names of layers, followed through passes that make several layers one.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace saccade::compiler {

/// A node's name, or that of what it returns where it has none.
const std::string& layer_name(const ir::Graph& graph, const ir::Node& node);

/// `names` with those of the nodes of `after` that hold what the nodes of `before` with these names did:
/// a pass turned one graph into the other.
std::vector<std::string> follow_layers(const std::vector<std::string>& names, const ir::Graph& before,
                                       const ir::Graph& after);

}  // namespace saccade::compiler
