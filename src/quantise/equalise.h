// Cross-layer equalisation: channels between two convolutions get the same range in the filters before and
// behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace saccade::quantise {

/// Two convolutions, the second of which alone reads the first, at most through a Relu or LeakyRelu, which
/// let positive factors pass. Channel c between them is divided by 2^exponents[c] and multiplied again:
/// powers of two round nothing, so that the network in single precision keeps its bits.
struct Equalisation {
  std::size_t first = 0, second = 0;  ///< indices of nodes
  std::vector<std::int8_t> exponents;
};

/// For every such pair of a graph that `prepare` returned; pairs where nothing would change are left out.
std::vector<Equalisation> find_equalisations(const ir::Graph& prepared);

/// Throws Error(io) where they do not fit the graph.
void equalise(ir::Graph& prepared, const std::vector<Equalisation>& equalisations);

}  // namespace saccade::quantise
