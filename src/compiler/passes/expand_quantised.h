// Quantised operators become dequantise, compute, quantise.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// QLinearMatMul, and QLinearConv that no kernel has, become what they stand for where their scales are
/// constant, so that the passes and kernels for real numbers serve them too. integer_sums then makes their
/// sums exact again.
void expand_quantised(ir::Graph& graph);

}  // namespace saccade::compiler
