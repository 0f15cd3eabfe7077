// One way to write each thing, so that later passes and kernels need to know one only.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Afterwards: no Identity, Dropout, Squeeze, Unsqueeze or Flatten (Reshape with a constant, explicit
/// target); no operator that does nothing; windows have explicit pads and pools over whole planes are
/// reductions; reductions keep their dimensions and have explicit axes; subtraction of and division by a
/// constant are Add and Mul; operands of elementwise operators have the rank of the result.
void canonicalise(ir::Graph& graph);

}  // namespace saccade::compiler
