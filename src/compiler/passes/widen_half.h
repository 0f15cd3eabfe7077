// Networks in half precision (or bfloat16 of the model's own) compute in f32, as they are meant to where
// there is no arithmetic of halves: kernels are those of floats. Inputs and results keep their types.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Nothing is rounded to halves in between. Graphs with graphs inside their nodes, that look at bits or make
/// random numbers, stay as they are.
void widen_half(ir::Graph& graph);

}  // namespace saccade::compiler
