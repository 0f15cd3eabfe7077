// Which physical order each value should have.
#pragma once

#include <optional>
#include <vector>

#include "compiler/target.h"
#include "ir/graph.h"

namespace saccade::compiler {

/// Whether a value may have its channels last: of rank 4, f32 or bytes.
bool is_picture(const ir::Graph& graph, ir::ValueId id);

/// The order that suits most users of each value: channels_last for values of rank 4 (f32 or bytes) in parts
/// of the graph that are connected to a convolution, pool or resize through operators that do not care; plain
/// for all others, and for what a resize makes that only leaves the graph.
std::vector<Layout> choose_layouts(const ir::Graph& graph);

/// `desc` relabelled as `layout` where its elements already lie in that order (dimensions of length 1 may lie
/// anywhere). The innermost row may be padded: channels of a pixel for channels_last, the last dimension for
/// plain. Strides of the result follow one formula: pitch, then products of dimensions.
std::optional<TensorDesc> as_layout(const TensorDesc& desc, Layout layout);

/// Strides of a value whose innermost rows are `pitch` elements apart.
std::vector<std::int64_t> pitched_strides(const Shape& dims, Layout layout, std::int64_t pitch);

/// Elements from the first to behind the last, gaps included.
std::int64_t span_elements(const TensorDesc& desc);

}  // namespace saccade::compiler
