// Takes means of pictures while the pictures are written.
#pragma once

#include "ir/graph.h"

namespace saccade::compiler {

/// Marks means over whole planes of what a node makes (attribute `follow`; GlobalAveragePool, ReduceMean): a
/// target whose kernels agree sums each part of the picture as soon as it is written, which saves reading all
/// of it again.
void means_while_written(ir::Graph& graph);

}  // namespace saccade::compiler
