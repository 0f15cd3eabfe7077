// Which layer of a network differs from that of a reference: each is looked at on its own, fed with what the
// reference computes in front of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantise/observe.h"

namespace saccade::accuracy {

struct LayerError {
  std::string name, op;
  /// Of the layer alone: root mean square of the difference, relative to that of the reference's result.
  double own = 0;
  /// Of its result in the whole network, with the errors of all layers before it.
  double total = 0;
};

struct LayerErrors {
  std::vector<LayerError> layers;  ///< in the order in which they run
  int unmatched = 0;               ///< layers of the reference that the other network does not have
};

/// A graph that quantise::prepare returned, with what lies between layers stored in bfloat16.
ir::Graph in_bf16(const ir::Graph& prepared);

/// Both graphs are as quantise::prepare makes them, with inputs of the same shapes; `other` may also be what
/// quantise::apply or in_bf16 made of such a one. Layers are the operators that return float tensors, matched
/// by position where the graphs have the same structure, else by the names of their results.
LayerErrors layer_errors(const ir::Graph& reference, const ir::Graph& other,
                         std::span<const quantise::Sample> samples, const quantise::Machine& machine);

/// Names of the layers that stand out: with single precision on both sides, those that differ by more than
/// rounding; else those whose own error is ten times that of the middle one. Largest first.
std::vector<std::string> suspects(const LayerErrors& errors, bool rounded);

}  // namespace saccade::accuracy
