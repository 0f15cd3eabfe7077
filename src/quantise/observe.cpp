#include "quantise/observe.h"

#include <algorithm>

#include "compiler/edit.h"
#include "runtime/context.h"
#include "runtime/plan.h"

namespace saccade::quantise {

namespace {

constexpr std::size_t kMostBytes = std::size_t{512} << 20;

std::shared_ptr<const runtime::PlanImpl> plan_of(const ir::Graph& graph, const Machine& machine) {
  compiler::Options options;
  options.isa = machine.isa;
  for (const ir::ValueId id : graph.inputs) options.input_shapes.push_back(*graph.value(id).shape);
  return runtime::plan_graph(graph, *machine.target, options);
}

}  // namespace

std::vector<Sample> run_all(const ir::Graph& graph, std::span<const Sample> samples, const Machine& machine) {
  runtime::ContextImpl context(plan_of(graph, machine), machine.threads);
  std::vector<Sample> results;
  for (const Sample& sample : samples) results.push_back(context.run(sample));
  return results;
}

void observe(const ir::Graph& graph, const std::vector<ir::ValueId>& values, std::span<const Sample> samples,
             const Machine& machine,
             const std::function<void(std::size_t, std::size_t, const Tensor&)>& see) {
  for (std::size_t begin = 0; begin < values.size();) {
    ir::Graph part = graph;
    part.outputs.clear();
    std::size_t bytes = 0, end = begin;
    for (; end < values.size(); ++end) {
      const Shape& shape = *compiler::known_shape(graph, values[end]);
      const std::size_t more = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
      if (end > begin && bytes + more > kMostBytes) break;
      bytes += more;
      part.outputs.push_back(values[end]);
    }
    runtime::ContextImpl context(plan_of(part, machine), machine.threads);
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const std::vector<Tensor> seen = context.run(samples[s]);
      for (std::size_t i = 0; i < seen.size(); ++i) see(begin + i, s, seen[i]);
    }
    begin = end;
  }
}

}  // namespace saccade::quantise
