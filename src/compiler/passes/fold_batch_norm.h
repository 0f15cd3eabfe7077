// Folds per-channel scales and offsets into the weights and the bias of the operator that they follow.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// BatchNormalization, Mul and Add by constants that vary along channels only, behind a Conv, ConvTranspose
/// or Gemm with constant weights whose result has no other use; a per-channel Mul in front of a Conv. A
/// MatMul of a matrix by constant weights with an Add behind it becomes a Gemm. A BatchNormalization that
/// stands elsewhere becomes Mul and Add.
void fold_batch_norm(ir::Graph& graph);

}  // namespace saccade::compiler
