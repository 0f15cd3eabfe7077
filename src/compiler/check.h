// Numeric check of a rewrite: both graphs run through the reference executor on the same data.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace saccade::compiler {

/// Throws Error(internal) naming the pass, the output and the first differing element unless both graphs give
/// the same outputs on pseudo-random inputs, to 1e-4 of the largest magnitude.
void check_equivalent(const ir::Graph& before, const ir::Graph& after, std::string_view pass);

}  // namespace saccade::compiler
