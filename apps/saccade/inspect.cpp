// saccade inspect: what a model is, needs and costs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/json_text.h"
#include "command.h"
#include "compiler/compile.h"
#include "compiler/measure.h"
#include "find_model.h"
#include "import/import.h"
#include "limit_option.h"
#include "pipeline/tensor_names.h"
#include "plan_options.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "saccade/error.h"
#include "saccade/model.h"
#include "settings/setting.h"

namespace saccade::cli {

namespace {

using Json = nlohmann::ordered_json;

struct InspectOptions {
  std::string model;
  PlanOptions plan;
  bool json = false;
  bool passes = false;
};

// What can only be said for concrete shapes.
struct Cost {
  std::int64_t multiply_adds = 0;
  std::int64_t activation_bytes = 0;  // of the arena
  std::int64_t live_bytes = 0;        // most that is needed at once
  std::int64_t weight_bytes = 0;
  std::int64_t scratch_bytes = 0;  // of a thread
  std::vector<TensorInfo> inputs, outputs;
  std::map<std::string, std::size_t> operators;  // of the compiled graph
  std::string pass_report;
};

std::string shape_text(const TensorInfo& info, bool known) {
  if (!known) return "?";
  if (info.shape.empty()) return "scalar";
  std::string text;
  for (std::size_t i = 0; i < info.shape.size(); ++i) {
    if (i > 0) text += 'x';
    if (info.shape[i] >= 0)
      text += std::to_string(info.shape[i]);
    else
      text += i < info.dim_names.size() && !info.dim_names[i].empty() ? info.dim_names[i] : "?";
  }
  return text;
}

std::int64_t count_parameters(const ir::Graph& graph) {
  std::int64_t count = 0;
  std::vector<bool> used(graph.values.size(), false);
  for (const ir::Node& node : graph.nodes) {
    for (const ir::ValueId id : node.inputs)
      if (id != ir::kNoValue) used[static_cast<std::size_t>(id)] = true;
    for (const auto& [key, value] : node.attributes)
      if (const auto* subgraph = std::get_if<std::shared_ptr<const ir::Graph>>(&value);
          subgraph != nullptr && *subgraph)
        count += count_parameters(**subgraph);
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const std::optional<Tensor>& constant = graph.values[i].constant;
    // 64-bit integers are shapes, axes and indices.
    if (used[i] && constant && constant->dtype() != DType::i64 && constant->dtype() != DType::boolean)
      count += constant->count();
  }
  return count;
}

Cost measure(const Model& model, const PlanOptions& options) {
  const CompileOptions wanted = compile_options(model, options);
  Cost cost;
  const std::vector<Shape> shapes = runtime::resolve_shapes(model.impl(), wanted);
  const ir::Graph typed = compiler::with_shapes(model.graph(), shapes);
  for (const ir::Node& node : typed.nodes) cost.multiply_adds += compiler::multiply_adds(typed, node);
  const Plan plan = model.compile(wanted);
  const compiler::CompiledGraph& compiled = plan.impl().compiled;
  cost.activation_bytes = plan.arena_bytes();
  cost.live_bytes = plan.live_activation_bytes();
  cost.scratch_bytes = plan.thread_scratch_bytes();
  cost.weight_bytes = plan.weight_bytes();
  cost.inputs = plan.inputs();
  cost.outputs = plan.outputs();
  cost.pass_report = compiled.pass_report;
  for (const compiler::Step& step : compiled.steps) ++cost.operators[step.op];
  return cost;
}

Json tensors_json(const std::vector<TensorInfo>& infos) {
  Json list = Json::array();
  for (const TensorInfo& info : infos)
    list.push_back({{"name", info.name},
                    {"dtype", dtype_name(info.dtype)},
                    {"shape", info.shape},
                    {"dim_names", info.dim_names}});
  return list;
}

template <class List>
Json counts_json(const List& counts) {
  Json object = Json::object();
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}

// The complete list of what is missing; exit code 1.
[[noreturn]] void report_missing(const import::Imported& imported, const std::string& path, bool json) {
  if (json) {
    Json missing = Json::array();
    for (const import::Missing& each : imported.missing)
      missing.push_back({{"operator", each.op}, {"nodes", each.nodes}, {"reason", each.reason}});
    const Json result = {{"model", path},
                         {"format", imported.format},
                         {"producer", imported.producer},
                         {"supported", false},
                         {"missing", missing},
                         {"model_operators", counts_json(imported.foreign_ops)}};
    fmt::print("{}\n", json_text(result, 2));
    throw Exit{kFailed};
  }
  fmt::print("{} ({}{}{}) cannot be run. Missing:\n", path, imported.format,
             imported.producer.empty() ? "" : ", ", imported.producer);
  for (const import::Missing& each : imported.missing)
    fmt::print("  {} x{}: {}, at '{}'\n", each.op, each.nodes.size(), each.reason,
               fmt::join(each.nodes, "', '"));
  std::fflush(stdout);
  throw Error(ErrorCode::unsupported, path + ": " + import::missing_message(imported.missing));
}

// The model; where it cannot be run for want of operators, all of them are listed.
Model load(const std::filesystem::path& path, const LoadLimits& limits, bool json) {
  try {
    return Model::load(path, limits);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    const import::Imported imported = import::read_model(map_file(path), path, limits);
    if (imported.missing.empty()) throw;
    report_missing(imported, path.string(), json);
  }
}

void print_tensors(const char* title, const Model& model, const std::vector<TensorInfo>& infos,
                   const std::vector<ir::ValueId>& ids) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    fmt::print("{:<16} '{}' {} {}\n", i == 0 ? title : "", infos[i].name, dtype_name(infos[i].dtype),
               shape_text(infos[i], model.graph().value(ids[i]).shape.has_value()));
}

template <class List>
void print_counts(const char* title, const List& counts) {
  std::string text;
  std::size_t total = 0;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
    total += count;
  }
  fmt::print("{:<16} {}: {}\n", title, total, text);
}

void print_passes() {
  for (const std::string& name : compiler::pass_names())
    fmt::print("{}{}\n", name, compiler::pass_is_required(name) ? " (required)" : "");
}

void run(const InspectOptions& options) {
  if (options.model.empty()) {
    if (!options.passes) throw UsageError("inspect: name a model");
    print_passes();
    return;
  }
  const std::filesystem::path path = find_model(options.model);
  const Model model = load(path, load_limits(options.plan.limits), options.json);
  if (const OutputSpec& output = model.spec().output; !output.tensor.empty())
    pipeline::output_number(model, output, path.string());  // refuses a name that the model lacks
  std::optional<Cost> cost;
  std::string why_not;
  try {
    cost = measure(model, options.plan);
  } catch (const Error& e) {
    // A model with open dimensions has no cost yet; anything the user asked for must work.
    if (!options.plan.shapes.empty() || options.plan.batch > 0 || !options.plan.disabled_passes.empty())
      throw;
    why_not = e.what();
  }
  std::map<std::string, std::size_t> operators;
  for (const ir::Node& node : model.graph().nodes) ++operators[node.op];
  const std::int64_t parameters = count_parameters(model.graph());
  const runtime::ModelImpl& impl = model.impl();
  if (options.json) {
    Json result = {{"model", path.string()},
                   {"format", impl.format},
                   {"producer", impl.producer},
                   {"sha256", impl.sha256},
                   {"supported", true},
                   {"inputs", tensors_json(cost ? cost->inputs : model.inputs())},
                   {"outputs", tensors_json(cost ? cost->outputs : model.outputs())},
                   {"model_operators", counts_json(impl.foreign_ops)},
                   {"operators", counts_json(operators)},
                   {"parameters", parameters}};
    result["multiply_adds"] = cost ? Json(cost->multiply_adds) : Json();
    result["activation_bytes"] = cost ? Json(cost->activation_bytes) : Json();
    result["activation_bytes_live"] = cost ? Json(cost->live_bytes) : Json();
    result["weight_bytes"] = cost ? Json(cost->weight_bytes) : Json();
    result["thread_scratch_bytes"] = cost ? Json(cost->scratch_bytes) : Json();
    if (cost) result["steps"] = counts_json(cost->operators);
    if (!cost) result["not_compiled"] = why_not;
    result["spec"] = describe(model.spec());
    if (options.passes) {
      Json passes = Json::array();
      for (const std::string& name : compiler::pass_names())
        passes.push_back({{"name", name}, {"required", compiler::pass_is_required(name)}});
      result["passes"] = passes;
    }
    fmt::print("{}\n", json_text(result, 2));
    return;
  }
  fmt::print("{:<16} {} ({}{}{})\n", "model", path.string(), impl.format, impl.producer.empty() ? "" : ", ",
             impl.producer);
  fmt::print("{:<16} {}\n", "sha256", impl.sha256);
  print_tensors("inputs", model, cost ? cost->inputs : model.inputs(), model.graph().inputs);
  print_tensors("outputs", model, cost ? cost->outputs : model.outputs(), model.graph().outputs);
  print_counts("operators", impl.foreign_ops.empty() ? std::vector<std::pair<std::string, std::size_t>>(
                                                           operators.begin(), operators.end())
                                                     : impl.foreign_ops);
  fmt::print("{:<16} {}\n", "parameters", parameters);
  if (cost) {
    fmt::print("{:<16} {:.1f} M\n", "multiply-adds", static_cast<double>(cost->multiply_adds) / 1e6);
    fmt::print("{:<16} {:.2f} MB ({:.2f} MB live at once)\n", "activations",
               static_cast<double>(cost->activation_bytes) / 1e6,
               static_cast<double>(cost->live_bytes) / 1e6);
    fmt::print("{:<16} {:.2f} MB\n", "packed weights", static_cast<double>(cost->weight_bytes) / 1e6);
    fmt::print("{:<16} {:.2f} MB a thread\n", "scratch", static_cast<double>(cost->scratch_bytes) / 1e6);
    print_counts("compiled steps", cost->operators);
  } else {
    fmt::print("{:<16} {} (--shape gives one)\n", "not compiled", why_not);
  }
  fmt::print("\n{}\n", describe(model.spec()));
  if (options.passes && cost) fmt::print("\n{}", cost->pass_report);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Say what a model takes, gives and costs, or what it lacks to run.");
  const settings::Setting& model = *settings::find("model", settings::kInfer);
  command->add_option("model", options->model, std::string(model.doc))
      ->type_name(std::string(model.value_name));
  add_plan_options(*command, options->plan);
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--passes", options->passes,
                    "List the compiler's passes; with a model, also what each did");
  command->callback([options] { run(*options); });
}

}  // namespace saccade::cli
