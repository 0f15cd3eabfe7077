// From a graph of operators to steps: a physical form for each value, a kernel for each node.
#pragma once

#include "compiler/kernel_choice.h"
#include "compiler/lowered.h"
#include "ir/graph.h"

namespace saccade::compiler {

struct LowerOptions {
  /// Taken instead of comparing kernels. An Error(io) where they do not fit the graph or a kernel refuses.
  const std::vector<Decision>* decisions = nullptr;
  PackedStore* store = nullptr;  ///< of packed weights
  /// Nanoseconds that a byte of packed weights counts when kernels are compared: 0 looks at time alone.
  double weight_price = 0;
};

/// All shapes must be concrete. Choices depend on shapes and the kernel table only, never on threads.
Lowered lower(const ir::Graph& graph, const KernelTable& kernels, const LowerOptions& options = {});

}  // namespace saccade::compiler
