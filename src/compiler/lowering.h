// From a graph of operators to steps: a physical form for each value, a kernel for each node.
#pragma once

#include "compiler/kernel_choice.h"
#include "compiler/lowered.h"
#include "ir/graph.h"

namespace saccade::compiler {

/// All shapes must be concrete. Choices depend on shapes and the kernel table only, never on threads.
Lowered lower(const ir::Graph& graph, const KernelTable& kernels);

}  // namespace saccade::compiler
