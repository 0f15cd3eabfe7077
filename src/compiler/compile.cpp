#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/log.h"
#include "compiler/edit.h"
#include "compiler/legalise.h"
#include "compiler/lowering.h"
#include "compiler/measure.h"
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
  for (const ir::Node& node : graph.nodes) budget.spend(work_of(graph, node));
}

/// Of a plan and one context with one thread.
std::size_t memory_of(const CompiledGraph& compiled) {
  return compiled.arena_bytes + compiled.thread_scratch_bytes + compiled.weight_bytes;
}

void check_memory(const CompiledGraph& compiled, const LoadLimits& limits) {
  if (static_cast<std::int64_t>(memory_of(compiled)) > limits.max_total_bytes)
    throw Error(
        ErrorCode::limit,
        fmt::format("the model needs {} bytes for activations and {} for weights, at most {} are allowed",
                    compiled.arena_bytes + compiled.thread_scratch_bytes, compiled.weight_bytes,
                    limits.max_total_bytes));
}

/// The lowest price of packed weights at which a plan takes at most `most` bytes.
double price_that_fits(const ir::Graph& graph, const KernelTable& kernels, std::int64_t most) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  const auto fits = [&](double price) {
    MeasuringStore store;
    const std::size_t bytes = memory_of(plan_memory(lower(graph, kernels, {nullptr, &store, price})));
    least = std::min(least, bytes);
    return bytes <= static_cast<std::size_t>(most);
  };
  if (fits(0)) return 0;
  // A byte for its time to be read from memory is a tenth of a nanosecond; at a thousand times that no
  // kernel's speed counts any more.
  constexpr int kSteps = 24;
  const auto price_at = [](int step) { return std::ldexp(100.0, step - kSteps); };
  if (!fits(price_at(kSteps)))
    throw Error(ErrorCode::limit,
                fmt::format("the model needs {} bytes for weights, activations and scratch with the smallest "
                            "kernels; at most {} are allowed",
                            least, most));
  int low = 0, high = kSteps;  // the answer is above low, unless it is low, and at most high
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (fits(price_at(middle)) ? high : low) = middle;
  }
  return price_at(high);
}

/// Constants that all their readers keep packed, so that nobody needs their data any more. Small ones stay:
/// shape rules may look at them.
std::vector<bool> packed_away(const ir::Graph& graph, const Lowered& lowered) {
  constexpr std::int64_t kSmall = 1024;
  const ir::Uses uses(graph);
  std::vector<bool> packed(graph.values.size(), false);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    const Tensor* tensor = graph.constant(id);
    packed[i] = tensor != nullptr && tensor->count() > kSmall && !uses.is_output(id) &&
                lowered.packed_uses[i] == uses.of(id).size();
  }
  return packed;
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

CompiledGraph compile_optimised(const ir::Graph& graph, const Target& target, const Options& options,
                                Recipe* recipe) {
  ir::Graph optimised = graph;
  refuse_unknown_shapes(optimised);
  check_work(optimised);
  const KernelTable kernels(target, options.isa, options.timer);
  legalise(optimised, kernels);
  RecordingStore store;
  const double price = options.max_memory > 0 ? price_that_fits(optimised, kernels, options.max_memory) : 0;
  Lowered lowered = lower(optimised, kernels, {nullptr, recipe != nullptr ? &store : nullptr, price});
  if (recipe != nullptr) {
    recipe->without_data = packed_away(optimised, lowered);
    recipe->decisions = lowered.decisions;
    recipe->blocks = std::move(store.blocks);
    recipe->graph = std::move(optimised);
  }
  CompiledGraph compiled = plan_memory(std::move(lowered));
  check_memory(compiled, graph.limits);
  log::debug("passes", "arena {} bytes (at least {} are live at once), weights {} bytes, {} steps",
             compiled.arena_bytes, compiled.live_bound_bytes, compiled.weight_bytes, compiled.steps.size());
  return compiled;
}

CompiledGraph compile_recipe(const Recipe& recipe, const Target& target, const Options& options) {
  refuse_unknown_shapes(recipe.graph);
  check_work(recipe.graph);
  const KernelTable kernels(target, options.isa);
  ReplayingStore store(recipe.blocks);
  Lowered lowered = lower(recipe.graph, kernels, {&recipe.decisions, &store});
  const std::vector<bool> packed = packed_away(recipe.graph, lowered);
  for (std::size_t i = 0; i < packed.size(); ++i)
    if (recipe.without_data[i] && !packed[i]) ArchiveReader::fail();
  if (!store.exhausted()) ArchiveReader::fail();
  CompiledGraph compiled = plan_memory(std::move(lowered));
  check_memory(compiled, recipe.graph.limits);
  return compiled;
}

CompiledGraph compile(const ir::Graph& graph, const Target& target, const Options& options) {
  std::string report;
  CompiledGraph compiled = compile_optimised(optimise(graph, options, &report), target, options);
  compiled.pass_report = std::move(report);
  return compiled;
}

}  // namespace saccade::compiler
