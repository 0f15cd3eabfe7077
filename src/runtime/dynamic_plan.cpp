#include "runtime/dynamic_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/shape_inputs.h"
#include "interpret/interpreter.h"
#include "runtime/context.h"

namespace saccade::runtime {

namespace {

constexpr std::size_t kMostBoundPlans = 8;

std::string key_of_bound(const std::vector<std::size_t>& positions, std::span<const Tensor> inputs) {
  std::string key;
  for (const std::size_t i : positions)
    if (inputs[i].bytes() > 0) key.append(static_cast<const char*>(inputs[i].raw()), inputs[i].bytes());
  return key;
}

bool contains(const std::vector<std::size_t>& positions, std::size_t i) {
  return std::binary_search(positions.begin(), positions.end(), i);
}

std::vector<TensorInfo> declared_infos(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  std::vector<TensorInfo> infos;
  for (const ir::ValueId id : ids) {
    const ir::Value& value = graph.value(id);
    TensorInfo info{value.name, value.dtype, value.shape.value_or(Shape{}), {}};
    info.dim_names.resize(info.shape.size());
    infos.push_back(std::move(info));
  }
  return infos;
}

/// The plan for the values that the shape inputs have now.
std::shared_ptr<const PlanImpl> bound_plan(const DynamicPlan& dynamic, std::span<const Tensor> inputs) {
  const std::string key = key_of_bound(dynamic.shape_inputs, inputs);
  const auto find = [&] {
    return std::find_if(dynamic.bound.begin(), dynamic.bound.end(),
                        [&](const auto& entry) { return entry.first == key; });
  };
  {
    const std::lock_guard lock(dynamic.mutex);
    if (const auto found = find(); found != dynamic.bound.end()) {
      dynamic.bound.splice(dynamic.bound.begin(), dynamic.bound, found);
      return dynamic.bound.front().second;
    }
  }
  ir::Graph graph = dynamic.graph;
  compiler::Options options = dynamic.options;
  for (std::size_t i = dynamic.shape_inputs.size(); i-- > 0;) {
    const std::size_t position = dynamic.shape_inputs[i];
    compiler::bind_input(graph, position, inputs[position]);
    options.input_shapes.erase(options.input_shapes.begin() + static_cast<std::ptrdiff_t>(position));
  }
  std::shared_ptr<const PlanImpl> plan = plan_graph(graph, *dynamic.target, options);
  const std::lock_guard lock(dynamic.mutex);
  dynamic.bound.emplace_front(key, plan);
  if (dynamic.bound.size() > kMostBoundPlans) dynamic.bound.pop_back();
  return plan;
}

}  // namespace

void make_dynamic(PlanImpl& plan, const ir::Graph& graph, const ir::Graph& optimised,
                  const compiler::Target& target, const compiler::Options& options) {
  auto dynamic = std::make_shared<DynamicPlan>();
  dynamic->target = &target;
  dynamic->options = options;
  dynamic->options.timer = nullptr;  // nothing is measured while a context runs
  dynamic->graph = compiler::with_shapes(graph, options.input_shapes);
  plan.outputs = declared_infos(dynamic->graph, dynamic->graph.outputs);
  dynamic->shape_inputs = compiler::shape_inputs(dynamic->graph);
  if (dynamic->shape_inputs.empty()) {
    dynamic->graph = optimised;
    plan.outputs = declared_infos(optimised, optimised.outputs);
    for (compiler::Island& island : compiler::split_islands(optimised)) {
      DynamicPlan::Part part{std::move(island), nullptr};
      if (part.island.static_shapes) {
        compiler::Options shapes = options;
        shapes.input_shapes.clear();
        for (const ir::ValueId id : part.island.graph.inputs)
          shapes.input_shapes.push_back(*part.island.graph.value(id).shape);
        part.plan = plan_graph(part.island.graph, target, shapes);
      }
      dynamic->parts.push_back(std::move(part));
    }
  }
  plan.dynamic = std::move(dynamic);
}

DynamicContext::DynamicContext(std::shared_ptr<const PlanImpl> plan, int threads)
    : plan_(std::move(plan)), threads_(threads) {}

DynamicContext::~DynamicContext() = default;

std::vector<Tensor> DynamicContext::run(std::span<const Tensor> inputs) {
  return plan_->dynamic->shape_inputs.empty() ? run_parts(inputs) : run_bound(inputs);
}

ContextImpl& DynamicContext::context_of(const std::shared_ptr<const PlanImpl>& plan, std::size_t keep) {
  const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                  [&](const auto& entry) { return entry.first == plan; });
  if (found != contexts_.end()) {
    contexts_.splice(contexts_.begin(), contexts_, found);
  } else {
    contexts_.emplace_front(plan, std::make_unique<ContextImpl>(plan, threads_));
    if (contexts_.size() > keep) contexts_.pop_back();
  }
  return *contexts_.front().second;
}

std::vector<Tensor> DynamicContext::run_bound(std::span<const Tensor> inputs) {
  const DynamicPlan& dynamic = *plan_->dynamic;
  const std::shared_ptr<const PlanImpl> plan = bound_plan(dynamic, inputs);
  std::vector<Tensor> rest;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!contains(dynamic.shape_inputs, i)) rest.push_back(inputs[i]);
  return context_of(plan, kMostBoundPlans).run(rest);
}

std::vector<Tensor> DynamicContext::run_parts(std::span<const Tensor> inputs) {
  const DynamicPlan& dynamic = *plan_->dynamic;
  std::vector<Tensor> values(dynamic.graph.values.size());
  const auto at = [&](ir::ValueId id) -> Tensor& { return values.at(static_cast<std::size_t>(id)); };
  for (std::size_t i = 0; i < values.size(); ++i)
    if (dynamic.graph.values[i].constant) values[i] = *dynamic.graph.values[i].constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) at(dynamic.graph.inputs[i]) = inputs[i];
  for (const DynamicPlan::Part& part : dynamic.parts) {
    std::vector<Tensor> taken;
    for (const ir::ValueId id : part.island.inputs) taken.push_back(at(id));
    std::vector<Tensor> made = part.plan != nullptr ? context_of(part.plan, dynamic.parts.size()).run(taken)
                                                    : interpret::run(part.island.graph, taken);
    for (std::size_t i = 0; i < made.size(); ++i) at(part.island.outputs[i]) = std::move(made[i]);
  }
  std::vector<Tensor> outputs;
  for (const ir::ValueId id : dynamic.graph.outputs) outputs.push_back(at(id));
  return outputs;
}

}  // namespace saccade::runtime
