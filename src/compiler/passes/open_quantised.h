// What is left of quantising and dequantising becomes elementwise arithmetic.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// QuantizeLinear and DequantizeLinear between f32 and bytes, with one scale and one zero point, become the
/// elementwise operators that give the same bits, and a Cast. Each use of a dequantised value gets its own,
/// so that what is stored is bytes. fuse_elementwise then makes them part of what computes or reads the
/// value. A mean of bytes that are read as they are, without a zero point, reads the bytes.
void open_quantised(ir::Graph& graph);

}  // namespace saccade::compiler
