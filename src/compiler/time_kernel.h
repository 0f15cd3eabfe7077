// Runs one kernel alone to see how long it takes.
#pragma once

#include <optional>

#include "compiler/target.h"

namespace saccade::compiler {

/// Nanoseconds of the kernel for the query on this thread: the least of several runs on made-up operands that
/// lie as the query says, its weights not in the caches that a network's others would have driven them from,
/// all else in them. Runs that are well beyond `rival` nanoseconds (if > 0) are not repeated for precision.
/// Nothing where its operands are too large to make some up.
std::optional<double> time_kernel(const KernelQuery& query, const KernelDesc& kernel, double rival);

}  // namespace saccade::compiler
