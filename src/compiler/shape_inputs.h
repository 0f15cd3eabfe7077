// Which inputs of a graph decide shapes by their data.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"

namespace saccade::compiler {

/// Positions in graph.inputs, ascending, of small inputs (sizes, scales, axes, a condition) on whose data
/// alone some shape depends, so that a plan can be made for their values. `graph` has concrete input shapes.
/// A shape that depends on anything larger, or on what an operator like NonZero finds, names none.
std::vector<std::size_t> shape_inputs(const ir::Graph& graph);

/// `graph` with the input at that position made a constant.
void bind_input(ir::Graph& graph, std::size_t position, const Tensor& data);

}  // namespace saccade::compiler
