// The ordered list of passes that bring an imported graph into the form that lowering takes.
#pragma once

#include <string>

#include "compiler/compile.h"
#include "ir/graph.h"

namespace saccade::compiler {

struct Pass {
  std::string_view name;
  /// Lowering relies on it: it cannot be switched off.
  bool required;
  void (*run)(ir::Graph& graph, const Options& options);
  bool rounds = false;  ///< results may change by roundings that the options ask for
};

/// In order; a pass may stand in the list more than once.
std::span<const Pass> passes() noexcept;

/// Runs the passes over `graph` (a copy the caller gives away), verifying behind each. Returns one line a
/// pass: name, time, nodes before and after. Throws Error(invalid_argument) for a name in
/// options.disabled_passes that is unknown or required.
std::string run_passes(ir::Graph& graph, const Options& options);

}  // namespace saccade::compiler
