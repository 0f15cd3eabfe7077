// Copies between any two strided forms of the same values: the fallback for Reorder, and what concatenation,
// slicing and results in another order are lowered to.
#pragma once

#include "compiler/target.h"

namespace saccade::compiler {

/// Runs a Reorder of any dtype, rank and strides.
const KernelDesc& copy_kernel() noexcept;

}  // namespace saccade::compiler
