// Counts for reports and limits.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace saccade::compiler {

/// Multiply-adds of a node whose types are known; 0 for operators that are not counted.
std::int64_t multiply_adds(const ir::Graph& graph, const ir::Node& node);
/// What ops::node_work says of a node whose types are known.
std::int64_t work_of(const ir::Graph& graph, const ir::Node& node);
/// As multiply_adds, without the products of a convolution's taps with its padding.
std::int64_t needed_multiply_adds(const ir::Graph& graph, const ir::Node& node);

}  // namespace saccade::compiler
