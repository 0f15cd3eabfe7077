#include "runtime/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/compile.h"
#include "runtime/context.h"
#include "runtime/dynamic_plan.h"
#include "runtime/kernel_times.h"
#include "runtime/model_impl.h"
#include "runtime/plan_file.h"
#include "saccade/profiler.h"

namespace saccade {

namespace runtime {

namespace {

constexpr std::size_t kMostCachedPlans = 8;

std::string key_of(const compiler::Target& target, const compiler::Options& options) {
  std::vector<std::string> disabled = options.disabled_passes, single = options.fp32_layers;
  std::sort(disabled.begin(), disabled.end());
  std::sort(single.begin(), single.end());
  std::string key =
      fmt::format("{} {} {}", target.name(), isa_name(options.isa), precision_name(options.precision));
  for (const Shape& shape : options.input_shapes) key += " " + shape_string(shape);
  key += fmt::format(" -{} {}{}", fmt::join(disabled, ","), options.max_memory,
                     options.timer != nullptr ? " tuned" : "");
  for (const std::string& name : single) key += fmt::format(" {}:{}", name.size(), name);
  if (options.coarse) {
    std::vector<std::string> exact = options.exact_layers;
    std::sort(exact.begin(), exact.end());
    key += " coarse";
    for (const std::string& name : exact) key += fmt::format(" {}:{}", name.size(), name);
  }
  return key;
}

std::vector<TensorInfo> infos_of(const ir::Graph& graph, const std::vector<ir::ValueId>& ids,
                                 const std::vector<Shape>& shapes) {
  std::vector<TensorInfo> infos;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const ir::Value& value = graph.value(ids[i]);
    infos.push_back({value.name, value.dtype, shapes[i], std::vector<std::string>(shapes[i].size())});
  }
  return infos;
}

}  // namespace

void check_precision(Precision precision, Isa isa) {
  switch (precision) {
    case Precision::fp32:
    case Precision::bf16:  // storage on any instruction set, products where there are such
      return;
    case Precision::fp16:
      throw Error(ErrorCode::unsupported,
                  fmt::format("precision {}: there are no kernels for it with instruction set {}; use fp32",
                              precision_name(precision), isa_name(isa)));
    case Precision::int8:
    case Precision::automatic:
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("precision {} needs pictures to measure on", precision_name(precision)));
  }
}

std::vector<Phase> phases_of(const compiler::CompiledGraph& compiled) {
  std::vector<Phase> phases;
  std::vector<std::size_t> last_phase(compiled.steps.size(), 0);  // of each step that has phases
  for (std::size_t s = 0; s < compiled.steps.size(); ++s) {
    const compiler::Step& step = compiled.steps[s];
    const std::vector<std::int64_t>& tasks = step.prepared.phase_tasks;
    for (std::size_t p = 0; p < tasks.size(); ++p) {
      if (tasks[p] == 0) continue;
      if (p == 0 && step.follows != compiler::Step::kNone) {
        phases[last_phase[step.follows]].followers.push_back(s);
        continue;
      }
      last_phase[s] = phases.size();
      phases.push_back({s, static_cast<int>(p), tasks[p], true});
    }
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const bool last = i + 1 == phases.size();
    phases[i].barrier = !last && !(phases[i].tasks == 1 && phases[i + 1].tasks == 1);
  }
  return phases;
}

std::shared_ptr<const PlanImpl> plan_graph(const ir::Graph& graph, const compiler::Target& target,
                                           const compiler::Options& options,
                                           std::optional<compiler::Recipe>* recipe) {
  auto plan = std::make_shared<PlanImpl>();
  plan->isa = options.isa;
  plan->precision = options.precision;
  plan->inputs = infos_of(graph, graph.inputs, options.input_shapes);
  std::string report;
  const ir::Graph optimised = compiler::optimise(graph, options, &report);
  if (!compiler::shapes_known(optimised)) {
    make_dynamic(*plan, graph, optimised, target, options);
    return plan;
  }
  plan->compiled = compiler::compile_optimised(optimised, target, options,
                                               recipe != nullptr ? &recipe->emplace() : nullptr);
  plan->compiled.pass_report = std::move(report);
  std::vector<Shape> shapes;
  for (const compiler::TensorDesc& output : plan->compiled.outputs) shapes.push_back(output.dims);
  plan->outputs = infos_of(graph, graph.outputs, shapes);
  for (std::size_t i = 0; i < plan->outputs.size(); ++i)
    plan->outputs[i].dtype = plan->compiled.outputs[i].dtype;
  plan->phases = phases_of(plan->compiled);
  return plan;
}

namespace {

/// The plan from the model's cache, or made and kept there.
std::shared_ptr<const PlanImpl> plan_from_files(const ModelImpl& model, const compiler::Target& target,
                                                const compiler::Options& wanted, const std::string& options) {
  if (model.cache == nullptr || model.identity.empty()) return plan_graph(model.graph(), target, wanted);
  const std::string key = plan_key(model, target, options);
  if (std::shared_ptr<const PlanImpl> known = read_plan(*model.cache, key, model, target, wanted))
    return known;
  std::optional<compiler::Recipe> recipe;
  std::shared_ptr<const PlanImpl> plan = plan_graph(model.graph(), target, wanted, &recipe);
  if (recipe) keep_plan(*model.cache, key, *plan, *recipe);
  return plan;
}

}  // namespace

std::shared_ptr<const PlanImpl> make_plan(const ModelImpl& model, const compiler::Target& target,
                                          const CompileOptions& options, const MeasureKernel& measure) {
  compiler::Options wanted;
  wanted.input_shapes = resolve_shapes(model, options);
  wanted.isa = options.max_isa ? std::min(*options.max_isa, active_isa()) : active_isa();
  check_precision(options.precision, wanted.isa);
  wanted.precision = options.precision;
  wanted.fp32_layers = options.fp32_layers;
  wanted.coarse = options.coarse, wanted.exact_layers = options.exact_layers;
  wanted.disabled_passes = options.disabled_passes;
  if (options.max_memory < 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a memory of {} bytes is negative", options.max_memory));
  wanted.max_memory = options.max_memory;
  const std::shared_ptr<KernelTimes> times = options.tune ? times_of(model, target, measure) : nullptr;
  wanted.timer = times;
  const std::string key = key_of(target, wanted);
  RecentPlans& cache = *model.recent;
  {
    const std::lock_guard lock(cache.mutex);
    const auto found = std::find_if(cache.plans.begin(), cache.plans.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    if (found != cache.plans.end()) {
      cache.plans.splice(cache.plans.begin(), cache.plans, found);
      return found->second;
    }
  }
  // Compiled without the lock: two threads that want different plans do not wait for each other.
  std::shared_ptr<const PlanImpl> plan = plan_from_files(model, target, wanted, key);
  if (times != nullptr) keep_times(model, target, *times);
  const std::lock_guard lock(cache.mutex);
  cache.plans.emplace_front(key, plan);
  if (cache.plans.size() > kMostCachedPlans) cache.plans.pop_back();
  return plan;
}

}  // namespace runtime

const std::vector<TensorInfo>& Plan::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& Plan::outputs() const { return impl_->outputs; }
std::int64_t Plan::arena_bytes() const { return static_cast<std::int64_t>(impl_->compiled.arena_bytes); }
std::int64_t Plan::weight_bytes() const { return static_cast<std::int64_t>(impl_->compiled.weight_bytes); }
std::int64_t Plan::live_activation_bytes() const {
  return static_cast<std::int64_t>(impl_->compiled.live_bound_bytes);
}
std::int64_t Plan::thread_scratch_bytes() const {
  return static_cast<std::int64_t>(impl_->compiled.thread_scratch_bytes);
}

Context Plan::make_context(const ContextOptions& options) const {
  auto context = std::make_unique<runtime::ContextImpl>(impl_, options.threads);
  if (options.profiler != nullptr) context->record(&options.profiler->recorder());
  return Context(std::move(context));
}

}  // namespace saccade
