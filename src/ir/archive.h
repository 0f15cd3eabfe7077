// Graphs as bytes, for files that Saccade writes for itself.
#pragma once

#include <functional>

#include "base/archive.h"
#include "ir/graph.h"

namespace saccade::ir {

/// The data of a constant for which `with_data` is false are left out; its type stays.
void write_graph(ArchiveWriter& out, const Graph& graph, const std::function<bool(ValueId)>& with_data);

/// What write_graph wrote; `left_out` makes the tensor of a constant without data. Limits are not part of it.
/// Reads any bytes: throws Error(io | limit) for what is not a graph's. The result is as good as an
/// importer's before ops::verify.
Graph read_graph(ArchiveReader& in, const std::function<Tensor(ValueId, DType, const Shape&)>& left_out);

}  // namespace saccade::ir
