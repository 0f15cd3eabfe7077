// The reference executor.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "saccade/tensor.h"

namespace saccade::interpret {

struct Options {
  /// Called after each node with its outputs; for debugging and for comparing layer by layer.
  std::function<void(const ir::Node&, std::span<const Tensor>)> observe;
};

/// Runs `graph` on `inputs` (the graph's order). Values are freed after their last use. Throws
/// Error(shape_mismatch) where an input contradicts a fixed dimension of the graph (naming it),
/// Error(invalid_model | unsupported) from kernels. Any shapes that the graph admits are accepted, from one
/// call to the next. Thread-safe: keeps no state.
std::vector<Tensor> run(const ir::Graph& graph, std::span<const Tensor> inputs, const Options& options = {});

}  // namespace saccade::interpret
