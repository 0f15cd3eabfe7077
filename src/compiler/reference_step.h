// A step that runs an operator's reference kernel: the fallback where a target has no kernel.
#pragma once

#include <span>

#include "compiler/target.h"
#include "ir/graph.h"

namespace saccade::compiler {

/// The descriptor such steps carry ("reference"); can_run, cost and prepare are not used.
const KernelDesc& reference_kernel() noexcept;

/// Takes operands in any layout. Allocates while it runs, and reports bad data (an index out of range)
/// through KernelArgs::failure.
PreparedKernel prepare_reference(const KernelQuery& query);
/// `limits`: of what the step may ask for at run time (graphs inside the node, results of unforeseen size).
PreparedKernel prepare_reference(const KernelQuery& query, const LoadLimits& limits);

}  // namespace saccade::compiler
