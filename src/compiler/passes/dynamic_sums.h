// Networks that quantise each picture by its own range: sums of whole numbers in single precision.
#pragma once

#include "compiler/compile.h"

namespace saccade::compiler {

/// DynamicQuantizeLinear becomes the reductions and elementwise operators that give the same bits for finite
/// values. A ConvInteger or MatMulInteger whose sums stay below 2^24 for its weights becomes a Conv or MatMul
/// of whole numbers, which single precision then adds exactly in any order; where weights are larger, the
/// channels are cut in parts whose sums do, and their total is rounded once, as the Cast to floats behind it
/// rounds. Where there are products of bf16, pictures that dense convolutions read are stored as it, which
/// holds what a byte can be exactly; and products of tokens and a matrix become such convolutions.
void dynamic_sums(ir::Graph& graph, const Options& options);

}  // namespace saccade::compiler
