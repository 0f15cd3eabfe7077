// What passes ask about 1x1 convolutions.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace saccade::compiler {

bool all_are(const std::vector<std::int64_t>& values, std::int64_t value);
/// A two-dimensional convolution, perhaps in groups, that looks at one pixel at a time and leaves none out.
bool is_pointwise(const ir::Graph& graph, const ir::Node& node);
/// The same without activation, residual and gate: linear but for its bias.
bool is_plain_pointwise(const ir::Graph& graph, const ir::Node& node);

}  // namespace saccade::compiler
