// Cuts a graph into parts that can be compiled and parts whose shapes only a run can tell.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace saccade::compiler {

struct Island {
  bool static_shapes = false;  ///< every shape in `graph` is known
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;   ///< ids in the whole graph, in the order of graph.inputs
  std::vector<ir::ValueId> outputs;  ///< likewise of graph.outputs
};

/// In an order in which they can run. Parts are as large as the order allows: a node belongs to the earliest
/// part of its kind behind everything that it reads.
std::vector<Island> split_islands(const ir::Graph& graph);

}  // namespace saccade::compiler
