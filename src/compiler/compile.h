// The compiler's entry point.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/compiled_graph.h"
#include "compiler/target.h"
#include "ir/graph.h"

namespace saccade::compiler {

struct Options {
  /// Concrete shape per graph input (the graph's order).
  std::vector<Shape> input_shapes;
  Isa isa = Isa::portable;
  std::vector<std::string> disabled_passes;
  /// Re-run the graph on random data with the interpreter after each pass and compare (slow; tests).
  bool check_passes = false;
};

/// Throws Error(unsupported) for data-dependent shapes that do not fold, Error(shape_mismatch |
/// invalid_model).
CompiledGraph compile(const ir::Graph& graph, const Target& target, const Options& options);

/// The optional and required passes in order, for --disable-pass and documentation.
std::vector<std::string> pass_names();

}  // namespace saccade::compiler
