// What the tests of single passes share.
#pragma once

#include <gtest/gtest.h>

#include "compiler/check.h"
#include "compiler/passes/dead_code.h"
#include "graph_maker.h"
#include "ops/infer.h"

namespace saccade::compiler {

/// Runs one pass on a copy, verifies it, and checks that the interpreter gives the same results.
inline ir::Graph apply(void (*pass)(ir::Graph&), const ir::Graph& graph) {
  ir::Graph result = graph;
  pass(result);
  ops::verify(result);
  ops::infer_graph(result);
  check_equivalent(graph, result, "under test");
  dead_code(result);
  return result;
}

}  // namespace saccade::compiler
