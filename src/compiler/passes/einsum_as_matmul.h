// Einsum of two operands becomes a matrix product, or a product of elements where nothing is summed; of one
// operand, a transpose.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Of f32 operands of known shapes; others stay: diagonals (a letter twice in a term), sums over letters of
/// one operand alone, dimensions of one that are repeated for the other.
void einsum_as_matmul(ir::Graph& graph);

}  // namespace saccade::compiler
