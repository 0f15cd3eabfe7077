#include "compiler/passes/set_shapes.h"

#include <fmt/format.h>

#include "compiler/passes/rewrite_batch.h"
#include "ops/infer.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

[[noreturn]] void mismatch(const ir::Value& value, const Shape& given) {
  throw Error(ErrorCode::shape_mismatch, fmt::format("input '{}': expected shape {}, got {}", value.name,
                                                     shape_string(*value.shape), shape_string(given)));
}

}  // namespace

void set_shapes(ir::Graph& graph, const Options& options) {
  if (options.input_shapes.size() != graph.inputs.size())
    throw Error(ErrorCode::invalid_argument, fmt::format("the model has {} inputs, shapes were given for {}",
                                                         graph.inputs.size(), options.input_shapes.size()));
  // What the model was exported for, where that differs from what is wanted in the leading dimension only.
  std::vector<Shape> exported;
  bool rewrite = false;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& wanted = options.input_shapes[i];
    element_count(wanted);  // throws for negative or huge dimensions
    const ir::Value& value = graph.value(graph.inputs[i]);
    Shape base = wanted;
    if (value.shape) {
      if (value.shape->size() != wanted.size()) mismatch(value, wanted);
      for (std::size_t d = 0; d < wanted.size(); ++d) {
        const std::int64_t declared = (*value.shape)[d];
        if (declared < 0 || declared == wanted[d]) continue;
        if (d != 0 || declared == 0) mismatch(value, wanted);
        base[0] = declared;
        rewrite = true;
      }
    }
    exported.push_back(std::move(base));
  }
  if (rewrite) rewrite_batch(graph, exported, options.input_shapes);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    ir::Value& value = graph.value(graph.inputs[i]);
    value.shape = options.input_shapes[i];
    value.dim_names.clear();
  }
  ops::infer_graph(graph);
}

}  // namespace saccade::compiler
