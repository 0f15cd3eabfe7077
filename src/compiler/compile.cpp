#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "compiler/edit.h"
#include "compiler/legalise.h"
#include "compiler/lowering.h"
#include "compiler/memory_plan.h"
#include "compiler/passes/set_shapes.h"
#include "compiler/pipeline.h"
#include "ops/budget.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

void refuse_unknown_shapes(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes)
    for (const ir::ValueId id : node.outputs)
      if (id != ir::kNoValue && known_shape(graph, id) == nullptr)
        throw Error(ErrorCode::unsupported,
                    ir::describe(node, graph) + ": the shape of its result depends on data");
}

/// What one run computes, from the shapes alone; graphs inside nodes keep account of themselves.
void check_work(const ir::Graph& graph) {
  ops::Budget budget(graph.limits);
  for (const ir::Node& node : graph.nodes) {
    std::vector<ops::TensorType> inputs, outputs;
    for (const ir::ValueId id : node.inputs)
      inputs.push_back(id == ir::kNoValue ? ops::TensorType{DType::f32, {0}}
                                          : ops::TensorType{graph.value(id).dtype, *graph.value(id).shape});
    std::vector<const ops::TensorType*> pointers(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != ir::kNoValue) pointers[i] = &inputs[i];
    for (const ir::ValueId id : node.outputs)
      outputs.push_back(id == ir::kNoValue ? ops::TensorType{DType::f32, {0}}
                                           : ops::TensorType{graph.value(id).dtype, *graph.value(id).shape});
    budget.spend(ops::node_work(node, pointers, outputs));
  }
}

/// Of a plan and one context with one thread.
void check_memory(const CompiledGraph& compiled, const LoadLimits& limits) {
  const std::size_t bytes = compiled.arena_bytes + compiled.thread_scratch_bytes + compiled.weight_bytes;
  if (static_cast<std::int64_t>(bytes) > limits.max_total_bytes)
    throw Error(
        ErrorCode::limit,
        fmt::format("the model needs {} bytes for activations and {} for weights, at most {} are allowed",
                    compiled.arena_bytes + compiled.thread_scratch_bytes, compiled.weight_bytes,
                    limits.max_total_bytes));
}

}  // namespace

ir::Graph with_shapes(const ir::Graph& graph, const std::vector<Shape>& input_shapes) {
  ir::Graph result = graph;
  Options options;
  options.input_shapes = input_shapes;
  set_shapes(result, options);
  return result;
}

ir::Graph optimise(const ir::Graph& graph, const Options& options, std::string* report) {
  ir::Graph result = graph;
  const std::string lines = run_passes(result, options);
  if (report != nullptr) *report = lines;
  return result;
}

bool shapes_known(const ir::Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
      return id == ir::kNoValue || known_shape(graph, id) != nullptr;
    });
  });
}

CompiledGraph compile_optimised(const ir::Graph& graph, const Target& target, const Options& options) {
  ir::Graph optimised = graph;
  refuse_unknown_shapes(optimised);
  check_work(optimised);
  const KernelTable kernels(target, options.isa);
  legalise(optimised, kernels);
  CompiledGraph compiled = plan_memory(lower(optimised, kernels));
  check_memory(compiled, graph.limits);
  log::debug("passes", "arena {} bytes (at least {} are live at once), weights {} bytes, {} steps",
             compiled.arena_bytes, compiled.live_bound_bytes, compiled.weight_bytes, compiled.steps.size());
  return compiled;
}

CompiledGraph compile(const ir::Graph& graph, const Target& target, const Options& options) {
  std::string report;
  CompiledGraph compiled = compile_optimised(optimise(graph, options, &report), target, options);
  compiled.pass_report = std::move(report);
  return compiled;
}

}  // namespace saccade::compiler
