// Quantised operators become dequantise, compute, quantise.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// QLinearConv and QLinearMatMul with constant scales become what they stand for, so that the passes and
/// kernels for real numbers serve them too. integer_sums then makes their sums exact again.
void expand_quantised(ir::Graph& graph);

}  // namespace saccade::compiler
