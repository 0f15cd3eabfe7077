// Gives the graph's inputs their concrete shapes and infers all others.
#pragma once

#include "compiler/compile.h"
#include "ir/graph.h"

namespace saccade::compiler {

/// Takes options.input_shapes. A fixed dimension may only be contradicted in the leading place, and then the
/// graph is rewritten for that batch (see rewrite_batch.h). Throws Error(shape_mismatch) naming input,
/// expected and given shape.
void set_shapes(ir::Graph& graph, const Options& options);

}  // namespace saccade::compiler
